#include "dp/accountants/gaussian_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace fedstride {
namespace {

constexpr double kFar = -37;  // in standard deviations; further out probabilities come near the smallest doubles

double normal_below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

/// Phi(-x) / density(x), Mills' ratio, from below (Birnbaum 1942) and from above (Sampford 1953); for x from -kFar on both are within
/// 1e-6 of it.
double mills_below(double x) { return 2 / (std::sqrt(x * x + 4) + x); }
double mills_above(double x) { return 4 / (std::sqrt(x * x + 8) + 3 * x); }

// Phi(a) - exp(epsilon) Phi(b), a = mu/2 - epsilon/mu, b = a - mu; exp(epsilon) times the density at b is that at a.
double upper_end(double mu, double epsilon) { return mu / 2 - epsilon / mu; }
double lower_end(double mu, double epsilon) { return -mu / 2 - epsilon / mu; }
bool is_far(double mu, double epsilon) { return upper_end(mu, epsilon) <= kFar; }

/// `end` with what the difference that it is has lost.
double rounded_end(double end, double mu) { return end + 1e-15 * mu; }

/// Where is_far().
double far_log_delta(double mu, double epsilon) {
  const double a = rounded_end(upper_end(mu, epsilon), mu);
  const double b = lower_end(mu, epsilon);
  // Mills' ratio is convex with slope x ratio(x) - 1, so that it falls by no more than this from -a to -b.
  const double root = std::sqrt(a * a + 4) - a;
  constexpr double kRounding = 2e-15;
  const double above = mills_above(-a);
  const double difference = std::min(above - mills_below(-b) + kRounding * above, mu * 4 / (root * root));
  return -a * a / 2 * (1 - kRounding) - std::log(2 * std::numbers::pi) / 2 + std::log(difference);
}

double near_delta(double mu, double epsilon) {
  constexpr double kRounding = 1e-14;
  constexpr double kLeast = std::numeric_limits<double>::min();
  const double a = upper_end(mu, epsilon);
  const double b = lower_end(mu, epsilon);
  const double first = normal_below(a);
  if (b > kFar) {
    const double second = std::exp(epsilon + std::log(normal_below(b)));
    const double error = kRounding * (first + second * (1 + epsilon + b * b));
    return std::clamp(first - second + error, kLeast, 1.0);
  }
  const double above = rounded_end(a, mu);
  const double density = std::exp(-above * above / 2) / std::sqrt(2 * std::numbers::pi);
  const double second = density * mills_below(-b);
  return std::clamp(normal_below(above) - second + kRounding * (first + second * (1 + above * above)), kLeast, 1.0);
}

bool holds(double mu, double epsilon, double delta) {
  return is_far(mu, epsilon) ? far_log_delta(mu, epsilon) <= std::log(delta) : near_delta(mu, epsilon) <= delta;
}

}  // namespace

double gaussian_log_delta(double mu, double epsilon) {
  return is_far(mu, epsilon) ? far_log_delta(mu, epsilon) : std::log(near_delta(mu, epsilon));
}

double gaussian_delta(double mu, double epsilon) {
  if (!is_far(mu, epsilon)) return near_delta(mu, epsilon);
  return std::max(std::exp(far_log_delta(mu, epsilon)), std::numeric_limits<double>::min());
}

double gaussian_epsilon(double mu, double delta) {
  if (holds(mu, 0, delta)) return 0;
  double low = 0;
  double high = mu * mu / 2 + mu * std::sqrt(-2 * std::log(delta)) + 1e-9;
  while (!holds(mu, high, delta)) {
    if (high > 1e300) return std::numeric_limits<double>::infinity();
    high *= 2;
  }
  while (high - low > 1e-13 * high) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (holds(mu, middle, delta) ? high : low) = middle;
  }
  return high;
}

}  // namespace fedstride
