#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/function_ref.hpp"
#include "core/own_process.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/ledger/ledger_entry.hpp"
#include "dp/ledger/ledger_file.hpp"

namespace fedstride {

/// The spending of each client. Clients with the same history share it, so a thousand equal clients take as much memory as one;
/// adding a group takes time proportional to its number of clients.
class SpendingTotals {
 public:
  /// `statement` is the client-level statement; null if there is none.
  explicit SpendingTotals(std::uint32_t clients, const LedgerStatement* statement = nullptr);

  /// Adds a group's releases to the spending of its clients (example level) or of all clients (client level). A group that names
  /// the clients in a sum is added only if this raises the largest number of such sums that any client has been in, or if its
  /// noise is correlated; the cost then follows from that number.
  void add(const LedgerGroup& group);

  const Spending& examples(ClientId client) const { return histories_[history_of_[client]].spent; }
  /// The same with shuffled lots counted as if Poisson-sampled.
  const Spending& examples_as_in_papers(ClientId client) const { return histories_[history_of_[client]].papers; }
  const Spending& updates() const { return updates_.spent; }

  /// The number of the client's history, below histories(); equal for clients with the same history.
  std::uint32_t history_of(ClientId client) const { return history_of_[client]; }
  std::uint32_t histories() const { return static_cast<std::uint32_t>(histories_.size()); }
  std::uint32_t clients() const { return static_cast<std::uint32_t>(history_of_.size()); }

 private:
  struct History {
    Spending spent;
    Spending papers;
    std::uint32_t clients = 0;
  };

  bool counts_ = false;               // true if each sum names the clients in it
  std::uint64_t unknown_rounds_ = 0;  // if above 0, it is unknown which of this many rounds the sums are in
  std::vector<History> histories_;
  std::vector<std::uint32_t> history_of_;
  History updates_;
  std::vector<std::uint32_t> taken_;  // number of sums that named each client; empty if there are none
  std::uint32_t most_taken_ = 0;      // including sums of all clients
  std::uint32_t taken_by_all_ = 0;
  std::vector<ReleaseRun> taken_runs_;  // the runs of all these sums; a sum with other runs is always charged
  bool is_taken_more_often(const LedgerGroup& group);
};

/// The contents of a ledger, added line by line: closed rounds count as executed, reservations that were never closed count in
/// full, and a reservation repeated with the same digest counts once. Lines that contradict others are counted as far as
/// possible and listed in problems().
class LedgerBook {
 public:
  explicit LedgerBook(LedgerHeader header);
  LedgerBook(LedgerBook&&) = default;
  LedgerBook& operator=(LedgerBook&&) = delete;  // its rounds have their own memory

  const LedgerHeader& header() const { return header_; }
  /// Why this reservation must be refused; empty if it is allowed. Sets `replay` if it already exists and so counts once.
  std::string refusal_reason(const LedgerEntry& reservation, bool& replay) const;
  /// True if the round is already closed with exactly these groups.
  bool was_closed_with(const LedgerEntry& closing) const;
  /// Adds a line. Its groups must be in canonical form, as in written lines, with valid numbers (malformed()) and sorted clients.
  void add(const LedgerEntry& entry);

  /// How lines contradict the ledger's promises, such as "round 3: client 2 executed 21 releases ...".
  const std::vector<std::string>& problems() const { return problems_; }

  Spending spent(ClientId client) const;
  Spending spent_by_update() const;
  /// The totals of all rounds, with open reservations counted in full.
  SpendingTotals totals() const { return before(kAllRounds); }
  /// The totals of the rounds before `round`, which apply if that round is repeated. No later round may have been closed.
  SpendingTotals before(std::uint64_t round) const;

  std::uint32_t rounds() const { return static_cast<std::uint32_t>(rounds_.size()); }
  /// Groups reserved but not closed, by round.
  const std::map<std::uint32_t, LedgerGroups>& open() const { return open_; }

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct Round {
    std::pmr::string digest;
    Digest reserved;       // SHA-256 of the reserved groups
    Digest executed = {};  // SHA-256 of the executed groups
    bool is_closed = false;
  };
  void add_reservation(const LedgerEntry& entry);
  void add_closing(const LedgerEntry& entry);
  /// True if the ledger has the first round of the cycle that this group continues, and a release with no more noise was charged.
  bool is_charged(std::uint32_t round, const LedgerGroup& group) const;
  void problem(std::uint32_t round, const std::string& what);
  bool is_separated() const { return !last_of_.empty(); }
  /// How this sum breaks the minimum separation of its clients' sums; empty if it does not.
  std::string too_close(std::uint32_t round, const LedgerGroup& group) const;
  /// Visits the groups of rounds before `before` that are not in closed_ yet.
  void for_each_recent(std::uint64_t before, function_ref<void(const LedgerGroup&)> visit) const;
  static constexpr std::uint64_t kAllRounds = std::uint64_t{1} << 33;

  LedgerHeader header_;
  // What is kept of each round has its own memory: among a round's buffers, it would leave gaps too small for later buffers.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_ = std::make_unique<std::pmr::monotonic_buffer_resource>();
  std::pmr::map<std::uint32_t, Round> rounds_{memory_.get()};
  std::vector<std::uint32_t> last_of_;       // last round whose sum named each client; empty without a separation
  std::vector<ReleaseRun> correlated_runs_;  // the runs of the first sum with correlated noise
  std::map<std::uint32_t, LedgerGroups> open_;
  SpendingTotals closed_;  // closed rounds except the latest
  LedgerGroups latest_;    // executed in the most recently closed round
  std::uint32_t latest_round_ = 0;
  std::vector<std::string> problems_;
};

/// The result of reading a ledger.
struct LedgerReading {
  LedgerBook book;
  LedgerMark mark;         ///< mark of the last line
  std::uint64_t size = 0;  ///< bytes up to the end of that line
  std::uint64_t torn = 0;  ///< bytes after it: a line left incomplete when the machine stopped
};

/// Reads the ledger and checks the whole chain and, if `mark` is not empty, the marked line. Throws Error (failure), with a
/// one-line message, if the file cannot be read, a line does not continue the chain or is invalid, or the marked line differs or
/// is missing.
LedgerReading read_ledger(const std::filesystem::path& path, const LedgerMark& mark = {}, std::string_view key = {});

/// The record of a run's releases: one JSON object per line, append-only, each line carrying a hash of the line before. Before a
/// round, its releases are reserved and the line is synced; after the round, the executed releases are appended. There is one
/// sync per round: the line that closes a round reaches the disk with the next reservation, or by sync(). If the machine stops
/// before that, the round is unclosed in the file and counts in full; a reservation that did not reach the disk belongs to a
/// round that had not begun. So a crash can only cause overcounting.
///
/// A round repeated from an earlier checkpoint uses the same addresses. The digest covers everything that the releases are
/// computed from: if it is the same, so are the releases, and nothing is added; if it differs, the round is refused.
///
/// With a key (the secret source), the chain is an HMAC: no one can write a line without the key. Only one process may write.
class Ledger {
 public:
  /// Creates a file. Throws Error (failure) if it already exists or cannot be written, or if the header is invalid.
  static Ledger create(const std::filesystem::path& path, const LedgerHeader& header, std::string_view key = {});
  /// Continues a file. Lines after the mark are kept and count; a torn last line is removed. Throws Error (failure) as
  /// read_ledger does, and if lines contradict each other.
  static Ledger open(const std::filesystem::path& path, const LedgerMark& mark = {}, std::string_view key = {});

  /// Reserves a round's releases; called before the round. The digest covers the model, data, build and noise. Writes nothing if
  /// there is nothing to release. Throws Error (failure), writing nothing, if addresses are used twice, weights break the
  /// sensitivity, or numbers are invalid.
  void reserve(std::uint32_t round, const std::string& digest, LedgerGroups groups);
  /// Records a round's executed releases; called after the round. Releases beyond the reservation are also written, since they
  /// have been spent; then Error (failure) is thrown.
  void close(std::uint32_t round, LedgerGroups executed);
  /// Flushes all lines to disk; called before a summary is written.
  void sync();

  /// The mark of the last line known to be on disk, for checkpoints and the summary.
  const LedgerMark& mark() const { return synced_; }

  const LedgerHeader& header() const { return book_.header(); }
  const LedgerBook& book() const { return book_; }
  /// The spending of a client's examples: closed rounds as executed, open rounds in full.
  Spending spent(ClientId client) const { return book_.spent(client); }
  /// The spending at client level, the same for every client.
  Spending spent_by_update() const { return book_.spent_by_update(); }

 private:
  Ledger(LedgerWriter writer, LedgerBook book, LedgerMark mark, std::string_view key);
  void append(std::string_view text);
  void checked(std::uint32_t round, const LedgerGroups& groups) const;

  LedgerWriter writer_;
  LedgerBook book_;
  LedgerMark written_;
  LedgerMark synced_;
  std::string key_;
  OwnProcess process_;
};

}  // namespace fedstride
