#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/function_ref.hpp"
#include "dp/ledger/ledger_entry.hpp"
#include "dp/ledger/ledger_file.hpp"
#include "dp/ledger/ledger_totals.hpp"

namespace fedstride {

/// The contents of a ledger, added line by line: closed rounds count as executed, reservations that were never closed in
/// full, a reservation that is repeated with the same digest once. Lines that contradict others are counted as well as
/// possible and listed in problems().
class LedgerBook {
 public:
  explicit LedgerBook(LedgerHeader header);

  const LedgerHeader& header() const { return header_; }
  /// The reason why this reservation must not be made; empty if it may. `replay`: it is there already and counts once.
  std::string refuses(const LedgerEntry& reservation, bool& replay) const;
  /// True if the round was closed before, with exactly these groups.
  bool closed_alike(const LedgerEntry& closing) const;
  /// Groups in canonical form, as lines are written; numbers checked (malformed), clients in order.
  void add(const LedgerEntry& entry);

  /// Lines that break what a ledger promises: "round 3: client 2 executed 21 releases ...".
  const std::vector<std::string>& problems() const { return problems_; }

  Spending spent(ClientId client) const;
  Spending spent_by_update() const;
  /// The totals of everything, open reservations in full.
  SpendingTotals totals() const { return before(kAllRounds); }
  /// The totals of the rounds before this one, which count when it is repeated. No later round may have been closed.
  SpendingTotals before(std::uint64_t round) const;

  std::uint32_t rounds() const { return static_cast<std::uint32_t>(rounds_.size()); }
  /// Reserved and not closed, by round.
  const std::map<std::uint32_t, LedgerGroups>& open() const { return open_; }

 private:
  struct Round {
    std::string digest;
    std::string reserved;  // SHA-256 of the groups
    std::string executed;  // likewise; empty while open
  };
  void add_reservation(const LedgerEntry& entry);
  void add_closing(const LedgerEntry& entry);
  void problem(std::uint32_t round, const std::string& what);
  /// Visits the groups of rounds before that one that are not in closed_ yet.
  void for_each_recent(std::uint64_t before, function_ref<void(const LedgerGroup&)> visit) const;
  static constexpr std::uint64_t kAllRounds = std::uint64_t{1} << 33;

  LedgerHeader header_;
  std::map<std::uint32_t, Round> rounds_;
  std::map<std::uint32_t, LedgerGroups> open_;
  SpendingTotals closed_;  // closed rounds but for the latest
  LedgerGroups latest_;    // executed in the round closed last
  std::uint32_t latest_round_ = 0;
  std::vector<std::string> problems_;
};

/// The result of reading a ledger.
struct LedgerReading {
  LedgerBook book;
  LedgerMark mark;         ///< of the last line
  std::uint64_t size = 0;  ///< bytes up to the end of that line
  std::uint64_t torn = 0;  ///< bytes after it: a line that was being written when the machine stopped
};

/// Reads the ledger and checks the whole chain, and the mark if there is one. Throws Error (failure), one line, if the file
/// cannot be read, a line does not continue the chain or is impossible, or the mark is missing, since lines were cut off.
LedgerReading read_ledger(const std::filesystem::path& path, const LedgerMark& mark = {}, std::string_view key = {});

}  // namespace fedstride
