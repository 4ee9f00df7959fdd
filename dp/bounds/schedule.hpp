#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/choice.hpp"

namespace fedstride {

/// How the bound on gradients falls over a client's releases t = 1, 2, ..., T, where T is the planned number (Yu et al., amended
/// DP-SGD).
enum class ClipSchedule { constant, hyperbolic, linear, linear_1000, factor_1000 };
constexpr auto choice_names(ClipSchedule) { return names("constant", "hyperbolic", "linear", "linear-1000", "factor-1000"); }

struct ScheduledBound {
  double (*factor)(double t, double target);  ///< C_t / C
  std::uint64_t last;                         ///< t from which the factor is constant; 0: T
};
/// Indexed by ClipSchedule.
inline constexpr ScheduledBound kScheduledBounds[] = {
    {[](double, double) { return 1.0; }, 1},
    {[](double t, double target) { return 1 / std::min(2.0, 1 + t / target); }, 0},  // Equation 6
    {[](double t, double target) { return std::max(0.5, 1 - t / (2 * target)); }, 0},
    {[](double t, double) { return std::max(0.5, 1 - t / 1000); }, 500},
    {[](double t, double) { return std::max(0.5, std::pow(0.999, t)); }, 693},
};
static_assert(std::size(kScheduledBounds) == kChoiceNames<ClipSchedule>.size());

}  // namespace fedstride
