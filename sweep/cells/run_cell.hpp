#pragma once

#include <filesystem>
#include <functional>

#include "run/run.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/cells/sweep.hpp"

namespace fedstride {

/// What came of an attempt at a cell.
struct CellOutcome {
  enum class Kind { finished, interrupted, held_elsewhere, failed };
  Kind kind = Kind::finished;
  std::string error = {};  ///< of failed, one line
};

/// What the cells of a sweep have in common.
struct CellWork {
  const Experiment& experiment;
  std::filesystem::path sweep;           ///< the sweep's folder
  std::string program;                   ///< for other commands than run
  int threads = 1;                       ///< of one cell
  const std::atomic<bool>* stop = nullptr;
};

/// Begins a cell or goes on with it, in this thread. Nothing is thrown. A failure is also kept in the cell's error.txt,
/// which goes when the cell is finished.
CellOutcome carry_out(const Cell& cell, CellState::Kind state, const CellWork& work,
                      const std::function<void(const RoundRecord&, std::uint32_t rounds)>& round);

/// Why a damaged cell cannot be used, with what can be done about it; kept in its error.txt too.
CellOutcome refuse_damaged(const Cell& cell, const CellState& state, const CellWork& work);

}  // namespace fedstride
