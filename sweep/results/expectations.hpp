#pragma once

#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride {

/// Whether the experiment's claims hold. `cells` tell what is missing.
std::vector<ExpectationResult> check(const Experiment& experiment, const std::vector<CellResult>& cells,
                                     const std::vector<SummaryRow>& summary);

}  // namespace fedstride
