#pragma once

#include <filesystem>
#include <string>

#include "core/folder_lock.hpp"
#include "sweep/file/experiment.hpp"

namespace fedstride {

/// The state of a cell, as found in its folder.
struct CellState {
  enum class Kind {
    fresh,       ///< empty, or containing only the error of a failed attempt
    unfinished,  ///< continues from its checkpoint
    finished,
    damaged,  ///< contains something else, or unreadable files
  };
  Kind kind = Kind::fresh;
  std::string why = {};      ///< reason for `damaged`
  std::uint64_t rounds = 0;  ///< rounds of an unfinished run, as of its last session that was not killed
};

/// Returns the state of the cell in SWEEP/cells/KEY. A run made elsewhere and copied there under this name counts if its
/// configuration, data and numerics version match the cell's.
CellState cell_state(const std::filesystem::path& sweep, const Experiment& experiment, const Cell& cell,
                     const InputHashes& inputs);

/// "finished", "unfinished", "new", "damaged"
std::string_view name_of(CellState::Kind kind);

}  // namespace fedstride
