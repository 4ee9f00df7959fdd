#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "dp/accountants/mechanism.hpp"
#include "dp/ledger/ledger_file.hpp"

namespace fedstride {

/// What a record of some rows was exposed to: its examples' sums, and the sums of its client's updates.
struct RowSpending {
  Spending examples = {};
  Spending updates = {};
};

/// A record of everything that rows were spent on, in all experiments: a file beside them with a line for each round of each run,
/// appended before the round's release. The last line of a run counts. Rows are known by the hash of their contents, so rows of
/// which one changed are other rows, whose spending does not add up here.
class RowBudget {
 public:
  /// Spending by rows and run.
  using Entries = std::map<std::pair<std::string, std::string>, RowSpending>;

  /// `rows`: hash of the rows; `run`: what tells runs apart.
  RowBudget(std::filesystem::path file, std::string rows, std::string run);

  /// Locks the file until record(), and returns what all other runs have spent on the rows. Throws Error (failure) if it cannot be
  /// read or locked within ten seconds.
  RowSpending others();
  /// Appends this run's spending, up to and with the next release, and syncs. Throws Error (failure) if that fails.
  void record(std::uint32_t round, const RowSpending& own);
  /// Unlocks the file; nothing is released.
  void release() { writer_.reset(); }

  /// All entries of a file; a line that was left incomplete when the machine stopped is not one. Throws Error (failure).
  static Entries read(const std::filesystem::path& file);

 private:
  std::filesystem::path file_;
  std::string rows_, run_;
  std::optional<LedgerWriter> writer_;
};

/// The file for rows in this file or folder: beside it, like the key of its roster line.
std::filesystem::path budget_beside(const std::filesystem::path& data);

/// A table of the entries: for all rows and runs, epsilon at this delta.
std::string budget_text(const RowBudget::Entries& entries, double delta);
std::string budget_json(const RowBudget::Entries& entries, double delta);

}  // namespace fedstride
