#include "dp/accountants/composition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/probability.hpp"
#include "core/stop.hpp"
#include "dp/accountants/gaussian_curve.hpp"

namespace fedstride {
namespace {

struct Sums {
  double epsilon = 0;
  double square = 0;
  double drift = 0;   ///< sum of epsilon (exp(epsilon) - 1)
  double centre = 0;  ///< sum of epsilon (exp(epsilon) - 1) / (exp(epsilon) + 1)
};

Sums sums(std::span<const ApproximateSteps> steps) {
  Sums total;
  for (const auto& [epsilon, delta, count] : steps) {
    const auto times = static_cast<double>(count);
    total.epsilon += times * epsilon;
    total.square += times * epsilon * epsilon;
    total.drift += times * epsilon * std::expm1(epsilon);
    total.centre += times * epsilon * std::tanh(epsilon / 2);
  }
  return total;
}

/// Probability that a Binomial(count, p) is below `bound`.
double binomial_below(double count, double p, double bound) {
  if (bound <= 0) return 0;
  if (bound > count) return 1;
  // kRounding in optimal_composition_delta() covers the error of computing in double.
  return incomplete_beta_complement(bound, count - bound + 1, p);
}

}  // namespace

double amplified_epsilon(double epsilon, double rate) {
  if (rate == 1) return epsilon;
  return epsilon < 700 ? std::log1p(rate * std::expm1(epsilon)) : epsilon + std::log(rate + (1 - rate) * std::exp(-epsilon));
}

std::vector<ApproximateSteps> approximate_steps(const Spending& merged, double step_delta) {
  std::vector<ApproximateSteps> steps;
  for (const Releases& releases : merged) {
    check_stop();
    const double distance = distance_between(releases.neighbours);
    const double own_delta = std::min(step_delta / releases.rate, 0.5);
    const double epsilon = gaussian_epsilon(distance / releases.noise_multiplier, own_delta);
    steps.push_back({amplified_epsilon(epsilon, releases.rate), step_delta, releases.count});
  }
  return steps;
}

double basic_composition(std::span<const ApproximateSteps> steps) { return sums(steps).epsilon; }

double advanced_composition(std::span<const ApproximateSteps> steps, double slack) {
  const Sums total = sums(steps);
  return std::sqrt(-2 * std::log(slack) * total.square) + total.drift;
}

double heterogeneous_composition(std::span<const ApproximateSteps> steps, double slack) {
  const Sums total = sums(steps);
  return std::sqrt(-2 * std::log(slack) * total.square) + total.centre;
}

double optimal_composition_delta(double epsilon, std::uint64_t count, double total) {
  // The sum over l < i of C(k, l) (exp((k-l) e) - exp(total + l e)) / (1 + exp(e))^k, restricted to positive terms.
  const auto k = static_cast<double>(count);
  if (epsilon == 0 || total >= k * epsilon) return 0;
  const double bound = std::ceil((k - total / epsilon) / 2);
  const double p = 1 / (1 + std::exp(epsilon));
  const double first = binomial_below(k, p, bound);
  const double second = binomial_below(k, 1 / (1 + std::exp(-epsilon)), bound);
  const double subtracted = second > 0 ? std::exp(total + std::log(second)) : 0;
  constexpr double kRounding = 1e-10;
  // Binomial probabilities that underflow are still positive.
  return std::clamp(first - subtracted + kRounding * first, std::numeric_limits<double>::min(), 1.0);
}

double optimal_composition(double epsilon, std::uint64_t count, double slack) {
  double low = 0;
  double high = static_cast<double>(count) * epsilon;
  if (optimal_composition_delta(epsilon, count, 0) <= slack) return 0;
  while (high - low > 1e-9 * high) {
    const double middle = (low + high) / 2;
    (optimal_composition_delta(epsilon, count, middle) <= slack ? high : low) = middle;
  }
  return high;
}

}  // namespace fedstride
