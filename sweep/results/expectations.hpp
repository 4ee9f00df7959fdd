#pragma once

#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride {

/// Checks the experiment's claims; one result each, in order. Never throws: a claim that cannot be checked is "not run".
std::vector<ExpectationResult> check(const Experiment& experiment, const std::vector<CellResult>& cells,
                                     const std::vector<SummaryRow>& summary);

}  // namespace fedstride
