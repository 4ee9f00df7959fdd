#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dp/accountants/mechanism.hpp"
#include "dp/ledger/ledger.hpp"

namespace fedstride {

/// What a run's rows were exposed to: each example's sums, and the sums of its client's updates.
struct RowSpending {
  std::vector<Spending> examples = {};  ///< alternatives: every example's spending costs no more than one of these
  Spending updates = {};
};

/// The spending of all clients, with at most this many alternatives.
inline constexpr std::size_t kMostAlternatives = 8;
RowSpending row_spending(const SpendingTotals& totals);

/// Epsilon of several runs on the same rows together, by the tightest accountant with a bound.
struct EpsilonTogether {
  double epsilon = 0;            ///< infinite if no accountant has a bound
  std::string accountant = "-";  ///< "none" without a bound
};
EpsilonTogether epsilon_together(std::span<const RowSpending> runs, Level level, double delta);

/// A record of everything that rows were spent on, in all experiments: a file beside them with a line for each round of each run,
/// appended before the round's release. The line of a run's last round counts. Rows are known by the hash of their contents, so
/// rows of which one changed are other rows, whose spending does not add up here.
class RowBudget {
 public:
  /// Spending by rows and run.
  using Entries = std::map<std::pair<std::string, std::string>, RowSpending>;

  /// `rows`: hashes of the rows, each a file's; `run`: what tells runs apart.
  RowBudget(std::filesystem::path file, std::vector<std::string> rows, std::string run);

  /// Locks the file until record() or release(), and returns what each other run has spent on the rows: for each of the rows, a
  /// list of runs. Throws Error (failure) if it cannot be read or locked within ten seconds.
  std::vector<std::vector<RowSpending>> others();
  /// Appends this run's spending on each of the rows, up to and with the next release, and syncs. Throws Error (failure) if that
  /// fails.
  void record(std::uint32_t round, const RowSpending& own);
  /// Unlocks the file; nothing is released.
  void release() { writer_.reset(); }

  /// All entries of a file; a line that was left incomplete when the machine stopped is not one. Throws Error (failure).
  static Entries read(const std::filesystem::path& file);

 private:
  /// What was read so far: the file only grows while a run lasts.
  struct Known {
    Entries entries = {};
    std::map<std::pair<std::string, std::string>, std::uint32_t> rounds = {};
    std::size_t bytes = 0;
    std::size_t lines = 0;
  };
  static void read_more(const std::filesystem::path& file, Known& known);

  std::filesystem::path file_;
  std::vector<std::string> rows_;
  std::string run_;
  Known known_;
  std::optional<LedgerWriter> writer_;
};

/// The record of the rows in this file or folder: beside or in it, like the key of its roster line, or in the user's state folder
/// ($XDG_STATE_HOME/fedstride, otherwise ~/.local/state/fedstride) if that place cannot be written.
std::filesystem::path budget_beside(const std::filesystem::path& data);
/// What the rows in this file or folder are known by: a hash of the bytes, however they are read.
std::string rows_in(const std::filesystem::path& data);

/// A table of the entries: for all rows and runs, epsilon at this delta.
std::string budget_text(const RowBudget::Entries& entries, double delta);
std::string budget_json(const RowBudget::Entries& entries, double delta);

}  // namespace fedstride
