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

/// Estimates the seconds that each cell would take from its start on this machine, with the options' threads and jobs. Measures
/// each kind of cell (by data set, model, optimizer, batch and privacy) briefly, and scales the result by examples and rounds.
/// Returns 0 for a finished cell, and NaN with the error if the measured run fails.
std::vector<CellEstimate> estimate(const Experiment& experiment, const std::vector<Cell>& cells, const SweepOptions& options);

}  // namespace fedstride
