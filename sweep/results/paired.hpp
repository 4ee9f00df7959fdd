#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sweep/results/summary.hpp"

namespace fedstride {

/// A configuration compared with others by one metric after the last round.
struct Compared {
  SeedStatistics statistics = {};  ///< n = 0: no finished seed has the metric, or a seed never reached the target
  bool is_best = false;            ///< has the best mean among two or more configurations
  SeedStatistics lead = {};        ///< lead of the best over this configuration, seed by seed; n: number of seeds in common
  double p = 0;                    ///< p-value against the best, with Holm's correction; NaN: no test
  int never = 0;                   ///< for a metric such as rounds_to_target, number of seeds that never reached the target
};

/// Minimum number of common seeds for a test; with fewer, the spread of the differences would be too uncertain.
inline constexpr int kMinTestedPairs = 5;

/// Compares configurations; returns one entry for each, in order. The test is Student's two-sided paired t-test over common
/// seeds; it needs kMinTestedPairs pairs whose differences are not all equal. Holm's method (1979) corrects for the number of
/// tests. The best is chosen from the same numbers, so the p-values are only a guide.
std::vector<Compared> compared(const std::vector<Seeds>& configurations, std::string_view metric, bool highest);

/// Returns the two-sided p-value of the paired t-test that the mean difference is 0; 1 if all differences are 0; NaN if they are
/// all equal but nonzero, or fewer than two.
double paired_p(std::span<const double> differences);

}  // namespace fedstride
