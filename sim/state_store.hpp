#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/function_ref.hpp"
#include "core/task.hpp"

namespace fedstride {

/// The states of clients, on the disk: one file of LMDB, of which only this file knows. A round's changes are one
/// transaction, or several if there are many of them, so that memory does not grow with the number of clients or with what they keep,
/// and a round costs what its cohort keeps. The file is held by one process at a time.
///
/// A run goes on from its last checkpoint, which is written after the transaction. So the states that clients had at that checkpoint
/// stay in the file until the next one is written, and a store that is ahead of its checkpoint goes back to it.
/// States are checked when they are read (SHA-256). When the file is opened, its pages are (sim/state_pages.hpp), and who has which state.
class StateStore {
 public:
  /// The store of the run with that identity, whose last checkpoint is of `round`: made anew for round 0, otherwise opened, and taken
  /// back to that round. Throws Error (failure) if the file is missing, cut, damaged, in use, of another run or of other rounds.
  StateStore(std::filesystem::path file, std::string run, std::uint32_t round);
  /// The same store, of round 1 or later, to read it as it was at that checkpoint; the file is not changed.
  static StateStore for_reading(std::filesystem::path file, std::string run, std::uint32_t round);
  /// A store without a name that ends with the process.
  static StateStore temporary();
  ~StateStore();
  StateStore(StateStore&&) noexcept;
  StateStore& operator=(StateStore&&) noexcept;

  // Both from any thread; throw Error (failure).
  /// A client's state as it was written last; empty before its first one.
  std::string read(ClientId client) const;
  void write(ClientId client, std::string_view state);
  /// Every client that has a state and that is wanted, with its state, in order.
  void for_each(function_ref<bool(ClientId)> wants, function_ref<void(ClientId, std::string_view)> use) const;

  /// Everything written is of this round, and lasts.
  void end_round(std::uint32_t round);
  /// Forgets what was written since the last round. Returns the round that the states are now of: that one, or the last checkpoint's if
  /// a part of the round had been brought to the disk already.
  std::uint32_t abandon_round();
  /// A checkpoint of this round, the last one that ended, is on the disk. Must be told before the next round's first change.
  void checkpointed(std::uint32_t round);

 private:
  struct Impl;
  explicit StateStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fedstride
