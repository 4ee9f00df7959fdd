#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/function_ref.hpp"

namespace fedstride {

/// A local minimum of a smooth function by L-BFGS (Nocedal 1980) with backtracking, from `start`; `value` also sets the gradient,
/// and may return infinity where the function is undefined. Never above the value at the start. Throws Stopped. NLopt is not
/// used: the result affects the noise of runs (plan_correlation), whose bits must not depend on how a distribution compiled that
/// library, or for which processor.
std::vector<double> minimize(std::vector<double> start, int iterations,
                             function_ref<double(std::span<const double> at, std::span<double> gradient)> value);

}  // namespace fedstride
