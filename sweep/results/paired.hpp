#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sweep/results/summary.hpp"

namespace fedstride {

/// Compares configurations by one metric after the last round.
struct Compared {
  SeedStatistics statistics = {};  ///< n = 0: no finished seed has the number
  bool is_best = false;            ///< has the best mean
  int pairs = 0;                   ///< seeds that it shares with the best
  double p = 0;                    ///< of the paired test against the best, Holm's correction applied; NaN: no test
};

/// One entry for each configuration, in their order. The test is Student's two-sided t-test on the differences between
/// seeds with the same number; it needs two pairs that do not all differ by the same. Holm 1979 corrects for the number of
/// tests. The best is chosen by the same numbers, so the p-values are a guide.
std::vector<Compared> compared(const std::vector<Seeds>& configurations, std::string_view metric, bool highest);

/// Two-sided p-value of the paired t-test that the differences have mean 0; NaN for fewer than two, or if all are equal and
/// not 0; 1 if all are 0.
double paired_p(std::span<const double> differences);

}  // namespace fedstride
