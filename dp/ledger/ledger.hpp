#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "dp/ledger/ledger_book.hpp"

namespace fedstride {

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
};

}  // namespace fedstride
