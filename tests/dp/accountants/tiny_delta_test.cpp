#include <doctest/doctest.h>

#include "tests/support/refusal.hpp"

#include <cmath>
#include <limits>

#include "core/floating_point.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/composition.hpp"
#include "dp/accountants/gaussian_curve.hpp"

// Deltas that no double holds. The logarithms were computed with 60 digits (Python's mpmath), or by hand where an equation is given.

namespace fedstride::test::tiny_delta_test {
namespace {

constexpr double kLeast = std::numeric_limits<double>::min();

/// Above the truth, and by no more than this.
void check_above(double bound, double truth, double by) {
  CHECK(bound >= truth);
  CHECK(bound <= truth + by);
}

PrivacyBound delta_of(const Accountant& accountant, const Releases& releases, double epsilon) {
  return delta_by(accountant, Spending{releases}, epsilon);
}

}  // namespace

TEST_CASE("the Gaussian's curve goes on below the smallest double, from above") {
  check_above(gaussian_log_delta(1, 43.4), -928.666314949377, 1e-4);
  check_above(gaussian_log_delta(1, 37.6), -696.379887426498, 1e-4);
  check_above(gaussian_log_delta(1, 37.4), -688.969241499968, 1e-4);
  check_above(gaussian_log_delta(20, 900), -617.987550371117, 1e-6);
  check_above(gaussian_log_delta(100, 9000), -804.945143547356, 1e-6);
  check_above(gaussian_log_delta(0.001, 0.043), -939.829213606696, 3e-3);
  check_above(gaussian_log_delta(1e-10, 4.5e-9), -1044.0595933696, 3e-3);
  for (const double epsilon : {36.0, 37.0, 37.4, 37.6, 38.0, 39.0, 43.4, 1e10, 1e200})
    CHECK(gaussian_delta(1, epsilon) >= kLeast);
  CHECK(gaussian_delta(1, 43.4) == kLeast);
}

TEST_CASE("an epsilon whose delta is near the smallest double is still the Gaussian's") {
  const double epsilon = gaussian_epsilon(1, 4.4e-308);
  CHECK(gaussian_log_delta(1, epsilon) <= std::log(4.4e-308));
  CHECK(gaussian_log_delta(1, epsilon * (1 - 1e-6)) > std::log(4.4e-308));
}

TEST_CASE("no accountant says a delta of 0 where something was spent, whatever the arithmetic does with the smallest numbers") {
  const auto check = [] {
    for (const std::string& name : part_names<Accountant>()) {
      CAPTURE(name);
      const Accountant accountant = make_part<Accountant>("accountant", name);
      for (const double epsilon : {43.4, 50.0, 1000.0, 1e10, 1e300})
        for (const double rate : {1.0, 0.01}) {
          const Releases releases{.sampling = rate < 1 ? Sampling::poisson : Sampling::full, .rate = rate, .noise_multiplier = 1};
          if (!unsound_by(accountant, Spending{releases}).empty()) continue;
          CAPTURE(epsilon);
          CHECK(delta_of(accountant, releases, epsilon).value >= kLeast);
        }
      CHECK(delta_by(accountant, {}, 1).value == 0);
    }
  };
  check();
  const FloatingPointMode flushed;
  check();
}

TEST_CASE("a delta below the smallest double is shown as that, and its power of 10 is said") {
  const Releases one{.noise_multiplier = 1};
  const auto remark = [&](const Accountant& accountant, double epsilon) {
    const PrivacyBound bound = delta_of(accountant, one, epsilon);
    CHECK(bound.value == kLeast);
    return bound.warning;
  };
  // At order 44 the divergence is 22: 43 (22 - 43.4 + ln(1 - 1/44)) - ln 44 = -924.97 = 401.71 ln 0.1.
  CHECK(names(remark(Rdp{}, 43.4), {"delta", "10^-401"}));
  // 43 (22 - 43.4) = -920.2 = 399.64 ln 0.1; of orders up to 33, 32 (16.5 - 43.4) = -860.8 = 373.84 ln 0.1.
  Rdp rdp;
  rdp.conversion = Conversion::classical;
  CHECK(names(remark(rdp, 43.4), {"delta", "10^-399"}));
  CHECK(names(remark(Moments{}, 43.4), {"order", "33", "delta", "10^-373"}));
  // rho = 1/2: (43.4 - 0.5)^2 / 2 = 920.205.
  Zcdp zcdp;
  zcdp.conversion = Conversion::classical;
  CHECK(names(remark(zcdp, 43.4), {"delta", "10^-399"}));
  CHECK(names(remark(Zcdp{}, 43.4), {"delta", "10^-401"}));
  CHECK(names(remark(Tight{}, 43.4), {"delta", "10^-403"}));  // of 10^-403.31
  CHECK(delta_of(Rdp{}, one, 20).warning.empty());
}

TEST_CASE("a bound of a logarithm is one, at most 1 and above 0") {
  CHECK(bound_of(2).value == 1);
  CHECK(bound_of(-1, "a").value == std::exp(-1.0));
  CHECK(bound_of(-1, "a").warning == "a");
  CHECK(bound_of(-std::numeric_limits<double>::infinity(), "a").value == kLeast);
  CHECK(names(bound_of(-std::numeric_limits<double>::infinity(), "a").warning, {"a", "delta"}));
}

TEST_CASE("the optimal composition's binomials may be below the smallest double; beyond the sum of the epsilons delta is 0") {
  CHECK(optimal_composition_delta(1, 4000, 3990) == kLeast);  // 10^-532.96
  CHECK(optimal_composition_delta(1, 4000, 4000) == 0);
}

TEST_CASE("a lower bound stays below the epsilon of the same release, where its probabilities underflow too") {
  for (double sigma = 0.024; sigma < 2; sigma *= 1.01)
    for (const double delta : {1e-5, 0.3}) {
      CAPTURE(sigma);
      CHECK(shuffle_epsilon_lower_bound(sigma, 1, delta) <= gaussian_epsilon(1 / sigma, delta));
    }
}

}  // namespace fedstride::test::tiny_delta_test
