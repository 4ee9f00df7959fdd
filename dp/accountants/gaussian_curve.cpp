#include "dp/accountants/gaussian_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "dp/accountants/accountants.hpp"
#include "dp/accountants/least_epsilon.hpp"

namespace fedstride {

double normal_below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

namespace {

constexpr double kFar = -37;  // in standard deviations; further out, probabilities approach the smallest doubles

/// Bounds Mills' ratio, Phi(-x) / density(x), from below (Birnbaum 1942) and above (Sampford 1953); for x >= -kFar both are
/// within 1e-6 of it.
double mills_below(double x) { return 2 / (std::sqrt(x * x + 4) + x); }
double mills_above(double x) { return 4 / (std::sqrt(x * x + 8) + 3 * x); }

// delta = Phi(a) - exp(epsilon) Phi(b), a = mu/2 - epsilon/mu, b = a - mu; exp(epsilon) x density(b) = density(a).
double upper_end(double mu, double epsilon) { return mu / 2 - epsilon / mu; }
double lower_end(double mu, double epsilon) { return -mu / 2 - epsilon / mu; }
bool is_far(double mu, double epsilon) { return upper_end(mu, epsilon) <= kFar; }

/// Returns `end`, increased to cover the rounding error of its subtraction.
double rounded_end(double end, double mu) { return end + 1e-15 * mu; }

/// Valid only if is_far().
double far_log_delta(double mu, double epsilon) {
  const double a = rounded_end(upper_end(mu, epsilon), mu);
  const double b = lower_end(mu, epsilon);
  // Mills' ratio is convex with slope x ratio(x) - 1, so from -a to -b it falls by at most the second argument of min below.
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
  double high = mu * mu / 2 + mu * std::sqrt(-2 * std::log(delta)) + 1e-9;
  while (!holds(mu, high, delta)) {
    if (high > 1e300) return std::numeric_limits<double>::infinity();
    high *= 2;
  }
  return least_epsilon(0, high, 1e-13, [&](double epsilon) { return holds(mu, epsilon, delta); });
}

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
  // Every threshold gives a valid bound; above 2 + 12 sigma, p is below every delta of interest.
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
