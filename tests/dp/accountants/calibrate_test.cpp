#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/spending.hpp"
#include "tests/dp/longest_prefix.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::calibrate_test {
namespace {

Spending mnist(double noise_multiplier) {
  return {{.rate = 256.0 / 60000, .noise_multiplier = noise_multiplier, .count = 14063}};
}
Rdp whole_orders() {
  Rdp rdp;
  rdp.orders = OrderGrid::int256;
  return rdp;
}

}  // namespace

TEST_CASE("The calibrated noise is the smallest on its grid that meets the target") {
  const double least = calibrate(whole_orders(), mnist, 3, 1e-5);
  CHECK(least == 1.015);  // the root is 1.01449
  CHECK(meets(whole_orders(), mnist(least), 3, 1e-5));
  CHECK(!meets(whole_orders(), mnist(least - 0.001), 3, 1e-5));
  CHECK(calibrate(whole_orders(), mnist, 3, 1e-5, 0.01) == 1.02);
  const double strong = calibrate(Strong{}, mnist, 30, 1e-5, 0.01);
  CHECK(Strong{}.epsilon(mnist(strong), 1e-5).value <= 30);
  CHECK(Strong{}.epsilon(mnist(strong - 0.01), 1e-5).value > 30);
}

TEST_CASE("A schedule is calibrated as a whole") {
  const auto falling_clip = [](double noise_multiplier) {
    Spending spending;
    for (int t = 1; t <= 100; ++t)
      spending.push_back({.rate = 0.01, .noise_multiplier = noise_multiplier * (1 + t / 100.0), .count = 100});
    return spending;
  };
  const double least = calibrate(Moments{}, falling_clip, 1.26, 1e-5);
  CHECK(Moments{}.epsilon(falling_clip(least), 1e-5).value <= 1.26);
  CHECK(Moments{}.epsilon(falling_clip(least - 0.001), 1e-5).value > 1.26);
  CHECK(least < 4);  // constant noise needs 4
}

TEST_CASE("A tiny noise multiplier is found as well as a large one") {
  const auto once = [](double noise_multiplier) {
    return Spending{{.sampling = Sampling::full, .noise_multiplier = noise_multiplier}};
  };
  const double small = calibrate(Zcdp{}, once, 1e5, 1e-5);
  CHECK(small > 0);
  CHECK(small < 0.01);
  CHECK(meets(Zcdp{}, once(small), 1e5, 1e-5));
  const double large = calibrate(Zcdp{}, once, 1e-4, 1e-5);
  CHECK(large > 1000);
  CHECK(Zcdp{}.epsilon(once(large), 1e-5).value <= 1e-4);
}

TEST_CASE("An epsilon that no noise reaches is refused, with the smallest one within reach") {
  const auto often = [](double noise_multiplier) {
    return Spending{{.sampling = Sampling::full, .noise_multiplier = noise_multiplier, .count = 1000}};
  };
  CHECK_USAGE_ERROR(calibrate(Rdp{}, often, 1e-9, 1e-9), "epsilon", "1e-09", "noise multiplier", "1e6", "delta");
}

TEST_CASE(
    "Calibrated noise, and the largest number of steps, end at or below a small epsilon, and one step less of noise does not") {
  std::mt19937_64 random(5);
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<>()(random));
  };
  for (int setting = 0; setting < 8; ++setting) {
    const bool known = setting == 0;
    const double rate = known ? 1.0195868214344507e-4 : between(3e-5, 0.1);
    const double epsilon = known ? 4.770018651411011e-4 : between(1e-5, 3e-3);
    const double delta = known ? 3.7469724054544114e-5 : between(1e-9, 1e-4);
    const auto steps = known ? std::uint64_t{11} : static_cast<std::uint64_t>(between(1, 1000));
    CAPTURE(rate);
    CAPTURE(epsilon);
    CAPTURE(delta);
    const auto at = [&](double noise_multiplier) {
      return Spending{{.rate = rate, .noise_multiplier = noise_multiplier, .count = steps}};
    };
    const double noise = calibrate(Tight{}, at, epsilon, delta);
    CHECK(Tight{}.epsilon(at(noise), delta).value <= epsilon);
    if (noise <= 0.002) continue;  // so rarely drawn that hardly any noise will do
    CHECK(Tight{}.epsilon(at(noise * 0.999 - 0.001), delta).value > epsilon);
    if (setting > 2) continue;
    const Releases next{.rate = rate, .noise_multiplier = noise * 0.9};
    const std::uint64_t most = most_steps(Tight{}, {}, next, epsilon, delta);
    CHECK(most < steps);
    if (most > 0) CHECK(Tight{}.epsilon(Spending{of_rounds(next, most)}, delta).value <= epsilon);
  }
}

TEST_CASE("The largest number of steps is the last that the budget holds") {
  const Releases next{.rate = 0.01, .noise_multiplier = 4};
  CHECK(most_steps(Moments{}, {}, next, 1, 1e-5) == 6360);  // Abadi's setting at epsilon 1
  const Releases spent{.rate = 0.01, .noise_multiplier = 4, .count = 6000};
  CHECK(most_steps(Moments{}, {&spent, 1}, next, 1, 1e-5) == 360);
  CHECK(most_steps(Moments{}, {&spent, 1}, next, 0.5, 1e-5) == 0);
  CHECK(most_steps(Rdp{}, {}, {.rate = 1e-8, .noise_multiplier = 1000}, 10, 1e-5) == kMaxSteps);
  CHECK(names(steps_remark(kMaxSteps), {"at least", "1099511627776"}));
  CHECK(steps_remark(kMaxSteps - 1).empty());
}

TEST_CASE("The longest prefix of a sequence ends within a group of releases if it has to") {
  Spending sequence;
  for (int i = 0; i < 10; ++i) sequence.push_back({.rate = 0.01, .noise_multiplier = 4, .count = 1000});
  CHECK(longest_prefix(Moments{}, {}, sequence, 1, 1e-5) == 6360);
  CHECK(longest_prefix(Moments{}, {}, sequence, 100, 1e-5) == 10000);
  CHECK(longest_prefix(Moments{}, {}, {}, 1, 1e-5) == 0);
}

}  // namespace fedstride::test::calibrate_test
