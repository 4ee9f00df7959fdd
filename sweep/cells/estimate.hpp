#pragma once

#include <string>
#include <vector>

#include "sweep/cells/sweep.hpp"

namespace fedstride {

/// The estimated cost of a cell; without a number, the reason why it is not known.
struct CellEstimate {
  double seconds = 0;
  std::string why = {};
};

/// Seconds that each cell would take here from its beginning, with the options' threads and jobs: a short measurement
/// for each kind of cell (data set, model, optimiser, batch, privacy), scaled by examples and rounds. 0 for finished
/// ones, NaN and the error if the measured run fails.
std::vector<CellEstimate> estimate(const Experiment& experiment, const std::vector<Cell>& cells, const SweepOptions& options);

}  // namespace fedstride
