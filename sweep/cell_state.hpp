#pragma once

#include <filesystem>
#include <string>

#include "sweep/experiment.hpp"

namespace fedstride {

/// What a cell's folder says about what is left to do.
struct CellState {
  enum class Kind {
    fresh,       ///< nothing there yet, or only why it failed
    unfinished,  ///< goes on from its checkpoint
    finished,
    damaged,     ///< holds something else or what cannot be read
  };
  Kind kind = Kind::fresh;
  std::string why = {};  ///< of damaged
};

/// Of the cell in SWEEP/cells/KEY. A run made elsewhere and copied there under this name counts, if it is the same run:
/// by its configuration, its data and its numerics version.
CellState cell_state(const std::filesystem::path& sweep, const Experiment& experiment, const Cell& cell,
                     const InputHashes& inputs);

/// "finished", "unfinished", "new", "damaged"
std::string_view name_of(CellState::Kind kind);

/// Held by one process at a time; the lock that a run's folder is locked with too (flock on the folder).
class FolderLock {
 public:
  enum class Wait { no, yes };
  FolderLock(const std::filesystem::path& folder, Wait wait);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  /// False if another process has it, or the folder cannot be opened.
  bool held() const { return held_; }

 private:
  int descriptor_ = -1;
  bool held_ = false;
};

/// Whether another process, or thread, works in a folder that is there.
bool is_held_elsewhere(const std::filesystem::path& folder);

}  // namespace fedstride
