#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/function_ref.hpp"
#include "core/task.hpp"

namespace fedstride {

/// Clients' states on disk, in one LMDB file (only the .cpp file uses LMDB). A round's changes are one transaction, or several if
/// they are large, so memory does not grow with the number of clients or the size of their states, and a round's cost depends
/// only on its cohort. The file is locked by one process at a time.
///
/// A run continues from its last checkpoint, which is written after the transaction. The clients' states at that checkpoint
/// therefore stay in the file until the next one is written, and a store ahead of its checkpoint is rolled back to it. States
/// are checked when they are read (SHA-256); pages (sim/fleet/state_pages.hpp) and the assignment of states to clients are
/// checked when the file is opened.
class StateStore {
 public:
  /// Opens the store of the run with this identity, whose last checkpoint is for `round`, and rolls it back to that round; for
  /// round 0, creates it. Throws Error (failure) if the file is missing, truncated, damaged, in use, or belongs to another run
  /// or other rounds.
  StateStore(std::filesystem::path file, std::string run, std::uint32_t round);
  /// Opens the store, at its checkpoint for round `round` (1 or later), for reading only.
  static StateStore for_reading(std::filesystem::path file, std::string run, std::uint32_t round);
  /// Creates an unnamed store, which vanishes when it is destroyed or the process ends.
  static StateStore temporary();
  ~StateStore();
  StateStore(StateStore&&) noexcept;
  StateStore& operator=(StateStore&&) noexcept;

  // These may be called from any thread, and throw Error (failure).
  /// Returns a client's state as last written; empty if it has none.
  std::string read(ClientId client) const;
  void write(ClientId client, std::string_view state);
  /// Calls use(client, state), in client order, for every client that has a state and for which wants(client) is true.
  void for_each(function_ref<bool(ClientId)> wants, function_ref<void(ClientId, std::string_view)> use) const;

  /// Commits everything written as the states after this round.
  void end_round(std::uint32_t round);
  /// Discards everything written since the last round. Returns the round the states now belong to: the last round, or the last
  /// checkpoint's if part of the abandoned round was already on disk.
  std::uint32_t abandon_round();
  /// Call after the checkpoint for `round`, the last completed round, is on disk and before the next round's first change. Repeated
  /// for the same checkpoint, also rounds later, it has no effect.
  void checkpointed(std::uint32_t round);

 private:
  struct Impl;
  explicit StateStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fedstride
