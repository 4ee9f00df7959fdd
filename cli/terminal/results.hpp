#pragma once

#include "sweep/results/results.hpp"

namespace fedstride {

/// Prints a sweep's table of results and who won, if any cell is finished.
void print_results(const SweepResults& results);

}  // namespace fedstride
