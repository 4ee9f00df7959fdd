#pragma once

#include <string>
#include <vector>

#include "sweep/cells/sweep.hpp"

namespace fedstride {

/// The estimated cost of a cell, or why it is unknown.
struct CellEstimate {
  double seconds = 0;
  std::string why = {};
};

/// Seconds that each cell would take on this machine from its start, with the options' threads and jobs: a short measurement
/// of each kind of cell (data set, model, optimizer, batch, privacy), scaled by examples and rounds. 0 for finished cells; NaN
/// and the error if the measured run fails.
std::vector<CellEstimate> estimate(const Experiment& experiment, const std::vector<Cell>& cells, const SweepOptions& options);

}  // namespace fedstride
