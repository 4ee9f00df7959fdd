#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/function_ref.hpp"

namespace fedstride {

/// Returns a local minimum of a smooth function, found from `start` by L-BFGS (Nocedal 1980) with backtracking. `value` returns
/// the function's value, or infinity where it is undefined, and sets the gradient. The result is never worse than `start`. Throws
/// Stopped. NLopt is not used: the result affects the noise of runs (plan_correlation), whose bits must not depend on how that
/// library was compiled, or for which processor.
std::vector<double> minimize(std::vector<double> start, int iterations,
                             function_ref<double(std::span<const double> at, std::span<double> gradient)> value);

}  // namespace fedstride
