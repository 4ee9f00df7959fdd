#include <doctest/doctest.h>

#include <cmath>

#include "dp/accountants/composition.hpp"
#include "dp/accountants/gaussian_curve.hpp"

namespace fedstride::test::composition_test {
namespace {

/// The smallest sufficient (count - 2i) epsilon, i whole.
double optimal_composition_on_grid(double epsilon, std::uint64_t count, double slack) {
  std::uint64_t low = 0;  // i = low holds: k epsilon costs nothing
  std::uint64_t beyond = count / 2 + 1;
  const auto total = [&](std::uint64_t i) { return static_cast<double>(count - 2 * i) * epsilon; };
  while (beyond - low > 1) {
    const std::uint64_t middle = (low + beyond) / 2;
    (optimal_composition_delta(epsilon, count, total(middle)) <= slack ? low : beyond) = middle;
  }
  return total(low);
}

/// Theorem 3.3 of Kairouz, Oh and Viswanath, term by term.
double optimal_delta_by_terms(double epsilon, int count, double total) {
  double delta = 0;
  double choose = 1;
  for (int l = 0; l <= count; ++l) {
    const double difference = std::exp((count - l) * epsilon) - std::exp(total + l * epsilon);
    if (difference > 0) delta += choose * difference / std::pow(1 + std::exp(epsilon), count);
    choose *= static_cast<double>(count - l) / (l + 1);
  }
  return delta;
}

}  // namespace

TEST_CASE("The Gaussian's curve is that of the analytic Gaussian mechanism") {
  CHECK(gaussian_delta(1, 0) == doctest::Approx(std::erf(1 / (2 * std::sqrt(2.0)))));
  // mu = 1, epsilon = 1: Phi(-1/2) - e Phi(-3/2)
  CHECK(gaussian_delta(1, 1) == doctest::Approx(0.12693673750664397).epsilon(1e-12));
  CHECK(gaussian_epsilon(1, 1e-5) == doctest::Approx(4.377182).epsilon(1e-6));  // rho = 1/2: privacy-facts, 4.377
  CHECK(gaussian_epsilon(std::sqrt(0.5), 1e-5) == doctest::Approx(2.9432252398013645).epsilon(1e-9));
  CHECK(gaussian_epsilon(1, 0.9) == 0);
  CHECK(gaussian_delta(1, gaussian_epsilon(1, 1e-12)) <= 1e-12);
  CHECK(std::isfinite(gaussian_epsilon(5, 1e-300)));
}

TEST_CASE("Gboard's published accounts: its rho, as rounded there, contains its epsilon at delta 1e-10") {
  const auto epsilon = [](double rho) { return gaussian_epsilon(std::sqrt(2 * rho), 1e-10); };
  CHECK(epsilon(0.15) == doctest::Approx(3.42).epsilon(0.005 / 3.42));
  CHECK(epsilon(0.01435) < 0.994);
  CHECK(epsilon(0.01445) > 0.994);
}

TEST_CASE("Dwork, Rothblum and Vadhan's composition is epsilon sqrt(2 k ln(1/slack)) + k epsilon (exp(epsilon) - 1)") {
  const ApproximateSteps steps{0.01, 0, 1000};
  CHECK(advanced_composition({&steps, 1}, 1e-5) == doctest::Approx(1.617928800226827).epsilon(1e-12));
  CHECK(heterogeneous_composition({&steps, 1}, 1e-5) < advanced_composition({&steps, 1}, 1e-5));
  CHECK(basic_composition({&steps, 1}) == doctest::Approx(10));
}

TEST_CASE("Kairouz, Oh and Viswanath's composition is the sum of Theorem 3.3, on its grid and between") {
  CHECK(optimal_composition_on_grid(0.01, 1000, 1e-5) == doctest::Approx(1.2).epsilon(1e-12));
  for (const double total : {0.0, 0.3, 0.75, 1.9, 2.0, 5.9})
    CHECK(optimal_composition_delta(0.3, 20, total) == doctest::Approx(optimal_delta_by_terms(0.3, 20, total)).epsilon(1e-8));
  CHECK(optimal_composition_delta(0.3, 20, 6.0) == 0);
  const double between = optimal_composition(0.01, 1000, 1e-5);
  CHECK(between <= 1.2);
  CHECK(between > 1.18);
  CHECK(optimal_composition(0.5, 1, 1e-5) == doctest::Approx(0.5).epsilon(1e-4));
  CHECK(optimal_composition_on_grid(0.5, 1, 1e-5) == 0.5);
}

TEST_CASE("Steps are amplified by Poisson sampling to ln(1 + q (exp(epsilon) - 1))") {
  CHECK(amplified_epsilon(1, 0.5) == doctest::Approx(std::log(1 + 0.5 * (std::exp(1) - 1))));
  CHECK(amplified_epsilon(1000, 0.5) == doctest::Approx(1000 + std::log(0.5)));
  CHECK(amplified_epsilon(3, 1) == 3);
  const auto steps = approximate_steps({{.rate = 0.01, .noise_multiplier = 4, .count = 7}}, 1e-9);
  CHECK(steps.front().delta == 1e-9);
  CHECK(steps.front().count == 7);
  CHECK(steps.front().epsilon == doctest::Approx(amplified_epsilon(gaussian_epsilon(0.25, 1e-7), 0.01)));
}

}  // namespace fedstride::test::composition_test
