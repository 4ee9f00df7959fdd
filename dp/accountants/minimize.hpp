#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/function_ref.hpp"

namespace fedstride {

/// Finds a local minimum of a smooth function by L-BFGS (Nocedal 1980) with backtracking, from `start`; `value` also sets the
/// gradient, and may return infinity where the function is undefined. The result is never worse than `start`. Throws Stopped.
/// NLopt is not used: the result affects the noise of runs (plan_correlation), whose bits must not depend on how, or for which
/// processor, a distribution compiled that library.
std::vector<double> minimize(std::vector<double> start, int iterations,
                             function_ref<double(std::span<const double> at, std::span<double> gradient)> value);

}  // namespace fedstride
