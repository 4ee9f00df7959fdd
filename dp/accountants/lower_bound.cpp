#include "dp/accountants/lower_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "dp/accountants/accountant.hpp"

namespace fedstride {

double shuffle_epsilon_lower_bound(double noise_multiplier, std::uint64_t lots, double delta) {
  const Releases release{.noise_multiplier = noise_multiplier};
  check_spending({&release, 1});
  check_delta(delta);
  if (lots == 0) return 0;
  constexpr double kRounding = 1e-13;
  const double sigma = noise_multiplier;
  const auto log_below = [&](double x) {  // ln Phi(x / sigma)
    return std::log1p(-std::erfc(x / sigma / std::numbers::sqrt2) / 2);
  };
  const auto shown = [&](double threshold) {
    const double others = static_cast<double>(lots - 1) * log_below(threshold);
    const double p = -std::expm1(others + log_below(threshold - 2));
    const double q = -std::expm1(others + log_below(threshold - 1));
    const double beyond = p * (1 - kRounding) - delta;
    return beyond > 0 && q > std::numeric_limits<double>::min() ? std::log(beyond / (q * (1 + kRounding))) : 0.0;
  };
  // Any threshold shows something true; beyond 12 sigma above 2 p is below every delta of interest.
  double best = 0;
  double centre = 0;
  double width = 2 + 12 * sigma;
  for (int zoom = 0; zoom < 6; ++zoom) {
    const double from = centre - width;
    for (int i = 0; i <= 400; ++i) {
      const double threshold = from + 2 * width * i / 400;
      if (const double epsilon = shown(threshold); epsilon > best) {
        best = epsilon;
        centre = threshold;
      }
    }
    width /= 20;
  }
  return best;
}

}  // namespace fedstride
