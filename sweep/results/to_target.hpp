#pragma once

#include "sweep/file/cost.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// Adds `megabytes` to each round, sent and received up to its end, if its bytes are known.
void add_megabytes(CellResult& cell);

/// Adds to a cell's numbers, for each of the test and the validation rows on which its rounds were evaluated: test_target_reached (1
/// or 0) and, if it is 1, test_rounds_to_target, test_seconds_to_target and test_megabytes_to_target, as far as they are known.
void add_to_target(const Target& target, CellResult& cell);

}  // namespace fedstride
