#include "dp/accountants/gaussian_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace fedstride {
namespace {

double normal_below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

}  // namespace

double gaussian_delta(double mu, double epsilon) {
  // Phi(a) - exp(epsilon) Phi(b), a = mu/2 - epsilon/mu, b = a - mu; exp(epsilon) times the density at b is that at a.
  constexpr double kRounding = 1e-14;
  const double a = mu / 2 - epsilon / mu;
  const double b = -mu / 2 - epsilon / mu;
  const double first = normal_below(a);
  if (b > -37) {
    const double second = std::exp(epsilon + std::log(normal_below(b)));
    const double error = kRounding * (first + second * (1 + epsilon + b * b));
    return std::clamp(first - second + error, 0.0, 1.0);
  }
  // Far out, exp(epsilon) Phi(b) = density(a) times Mills' ratio at -b, which is above 2 / (sqrt(b^2 + 4) - b) (Birnbaum 1942),
  // by less than 1e-6 of itself.
  const double above = a + 1e-15 * mu;  // the difference that a is has lost that much
  const double density = std::exp(-above * above / 2) / std::sqrt(2 * std::numbers::pi);
  const double second = density * 2 / (std::sqrt(b * b + 4) - b);
  return std::clamp(normal_below(above) - second + kRounding * (first + second * (1 + above * above)), 0.0, 1.0);
}

double gaussian_epsilon(double mu, double delta) {
  if (gaussian_delta(mu, 0) <= delta) return 0;
  double low = 0;
  double high = mu * mu / 2 + mu * std::sqrt(-2 * std::log(delta)) + 1e-9;
  while (gaussian_delta(mu, high) > delta) {
    if (high > 1e300) return std::numeric_limits<double>::infinity();
    high *= 2;
  }
  while (high - low > 1e-13 * high) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (gaussian_delta(mu, middle) <= delta ? high : low) = middle;
  }
  return high;
}

}  // namespace fedstride
