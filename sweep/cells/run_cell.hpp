#pragma once

#include <filesystem>
#include <functional>

#include "run/run.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/cells/sweep.hpp"

namespace fedstride {

/// The outcome of an attempt at a cell.
struct CellOutcome {
  enum class Kind { finished, interrupted, held_elsewhere, failed };
  Kind kind = Kind::finished;
  std::string error = {};  ///< for failed, one line
};

/// The properties common to the cells of a sweep.
struct CellWork {
  const Experiment& experiment;
  std::filesystem::path sweep;  ///< the sweep's folder
  std::string program;          ///< for other commands than run
  int threads = 1;              ///< of one cell
  const std::atomic<bool>* stop = nullptr;
  FleetMaker fleet = {in_process_fleet};
};

/// Begins or continues a cell, in this thread. Never throws. A failure is also kept in the cell's error.txt, which is
/// removed when the cell is finished.
CellOutcome carry_out(const Cell& cell, CellState::Kind state, const CellWork& work,
                      const std::function<void(const RoundRecord&, std::uint32_t rounds)>& round);

/// The reason why a damaged cell cannot be used, with a remedy; also kept in its error.txt.
CellOutcome refuse_damaged(const Cell& cell, const CellState& state, const CellWork& work);

}  // namespace fedstride
