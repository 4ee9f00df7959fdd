#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "dp/ledger/ledger_book.hpp"

namespace fedstride {

/// The record of what a run has released: one JSON object a line, only ever added to, each line carrying a hash of the
/// one before. Before a round what it may release is reserved, and the line synced; after it what was executed is added.
/// One sync a round: the line that closes a round gets to the disk with the next reservation, or by sync(). Should the
/// machine stop before that, the round stands there unclosed and counts in full; a reservation that did not get to the
/// disk belongs to a round that had not begun. So a kill can only over-count.
///
/// A round that is done again, from a checkpoint before it, repeats its addresses: with the same digest of all its
/// releases are computed from they are the same releases, and nothing is added; with another one it is refused.
///
/// With a key (the secret source) the chain is an HMAC: only who has the key can write a line. One process writes.
class Ledger {
 public:
  /// A new file. Throws Error (failure): it is there already, cannot be written, or the header says the impossible.
  static Ledger create(const std::filesystem::path& path, const LedgerHeader& header, std::string_view key = {});
  /// Goes on with one. Lines after the mark stay and count; a torn last line goes. Throws Error (failure): see
  /// read_ledger, and if lines contradict each other.
  static Ledger open(const std::filesystem::path& path, const LedgerMark& mark = {}, std::string_view key = {});

  /// Before a round. The digest is of model, data, build and noise. Nothing to release: nothing is written. Throws Error
  /// (failure), nothing written, if addresses are used twice, weights break the sensitivity, or numbers are impossible.
  void reserve(std::uint32_t round, const std::string& digest, LedgerGroups groups);
  /// After it. What goes beyond the reservation is written, then thrown as Error (failure): it has been spent.
  void close(std::uint32_t round, LedgerGroups executed);
  /// What was written is on the disk afterwards; before a summary is.
  void sync();

  /// Of the last line that is on the disk for certain. To be kept in checkpoints and the summary.
  const LedgerMark& mark() const { return synced_; }

  const LedgerHeader& header() const { return book_.header(); }
  const LedgerBook& book() const { return book_; }
  /// Of client k's examples; closed rounds as executed, others in full.
  Spending spent(ClientId client) const { return book_.spent(client); }
  /// Of every client, at client level.
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
