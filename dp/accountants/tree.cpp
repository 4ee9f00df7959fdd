#include "dp/accountants/tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.hpp"

namespace fedstride {

std::size_t tree_depth(std::uint64_t steps) { return static_cast<std::size_t>(std::bit_width(steps)); }

double tree_sensitivity(std::uint64_t steps, std::uint64_t separation, std::uint64_t most) {
  if (steps == 0 || steps > (std::uint64_t{1} << 40)) throw usage_error("steps of a tree: valid: 1 to 2^40");
  if (separation == 0) throw usage_error("separation is 0; it must be at least 1, any two rounds");
  const std::uint64_t fit = (steps - 1) / separation + 1;
  const auto all = static_cast<double>(most > 0 ? std::min(most, fit) : fit);
  double square = 0;
  for (std::size_t level = 0; level < tree_depth(steps); ++level) {
    const std::uint64_t width = std::uint64_t{1} << level;
    // Sums of squares over nodes with at most `each`, `all` in total.
    square += all * std::min(all, static_cast<double>((width - 1) / separation + 1));
  }
  return std::sqrt(square) * (1 + 1e-15);
}

double tree_variance(std::uint64_t t, bool better) {
  if (!better) return std::popcount(t);
  double variance = 0;
  for (int height = 0; height < 64; ++height)
    if ((t >> height & 1) != 0) variance += 1 / (2 * (1 - std::ldexp(1.0, -(height + 1))));
  return variance;
}

}  // namespace fedstride
