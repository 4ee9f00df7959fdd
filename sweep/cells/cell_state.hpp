#pragma once

#include <filesystem>
#include <string>

#include "core/folder_lock.hpp"
#include "sweep/file/experiment.hpp"

namespace fedstride {

/// The state of a cell, from its folder.
struct CellState {
  enum class Kind {
    fresh,       ///< empty, or with nothing but the error of a failure
    unfinished,  ///< continues from its checkpoint
    finished,
    damaged,  ///< holds something else or unreadable files
  };
  Kind kind = Kind::fresh;
  std::string why = {};  ///< reason for `damaged`
};

/// The state of the cell in SWEEP/cells/KEY. A run made elsewhere and copied there under this name counts, if it is the same run:
/// by its configuration, its data and its numerics version.
CellState cell_state(const std::filesystem::path& sweep, const Experiment& experiment, const Cell& cell,
                     const InputHashes& inputs);

/// "finished", "unfinished", "new", "damaged"
std::string_view name_of(CellState::Kind kind);

}  // namespace fedstride
