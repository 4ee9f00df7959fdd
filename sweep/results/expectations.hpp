#pragma once

#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride {

/// Checks the experiment's claims. Missing results are known from `cells`.
std::vector<ExpectationResult> check(const Experiment& experiment, const std::vector<CellResult>& cells,
                                     const std::vector<SummaryRow>& summary);

}  // namespace fedstride
