#pragma once

#include <filesystem>
#include <string>

#include "core/folder_lock.hpp"
#include "sweep/file/experiment.hpp"

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

}  // namespace fedstride
