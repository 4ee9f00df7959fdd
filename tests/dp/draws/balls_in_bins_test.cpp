// Balls-in-bins releases in a spending: the exact curve, its epochs, what it cannot be combined with.
#include <doctest/doctest.h>

#include "dp/accountants/accountants.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/accountants/spending.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::balls_in_bins_test {
namespace {

Releases binned(double rate, double noise, std::uint64_t count, std::uint64_t passes) {
  return {.sampling = kSampling<BallsInBins>, .rate = rate, .noise_multiplier = noise, .count = count, .passes = passes};
}

double delta(const Spending& spending, double epsilon) { return Tight{}.delta(spending, epsilon).value; }

}  // namespace

TEST_CASE("the curve of balls in bins: known numbers, one bin, many epochs") {
  const auto curve = [](double noise, std::uint64_t bins, std::uint64_t epochs = 1) {
    return BallsInBins().curve(noise, bins, epochs, 1);
  };
  const auto two = curve(1, 2);
  const double epsilons[] = {0.5, 1, 2}, remove[] = {0.149178, 0.059206, 0.004746}, add[] = {0.142687, 0.050198, 0.002056};
  for (int i = 0; i < 3; ++i) {
    CHECK(std::abs(two->delta_remove(epsilons[i]) - remove[i]) < 1.5e-6);
    CHECK(std::abs(two->delta_add(epsilons[i]) - add[i]) < 1.5e-6);
    CHECK(curve(1, 1)->delta(epsilons[i]) == doctest::Approx(gaussian_delta(1, epsilons[i])).epsilon(1e-12));
    CHECK(curve(2, 2, 4)->delta(epsilons[i]) == two->delta(epsilons[i]));
  }
  CHECK(two->delta(two->epsilon(1e-3)) <= 1e-3);
  CHECK(two->delta(two->epsilon(1e-3) * (1 - 1e-8)) > 1e-3);
  double before = gaussian_epsilon(1, 1e-5);
  for (const std::uint64_t bins : {2, 5, 20, 100}) {
    const double epsilon = curve(1, bins)->epsilon(1e-5);
    CHECK(epsilon < before);
    before = epsilon;
  }
  CHECK(before > 0.05);
  CHECK_THROWS_AS(curve(1, 0), Error);
  CHECK_THROWS_AS(curve(0.1, 2, 2), Error);
}

// Quadrature of the pair of distributions, two bins, noise 1; the larger direction is removing.
TEST_CASE("the cost of balls in bins is that of their pair of distributions; epochs divide the noise by their root") {
  const std::pair<double, double> known[] = {{0.5, 0.149178}, {1, 0.059206}, {2, 0.004746}};
  for (const auto& [epsilon, expected] : known) {
    CHECK(delta({binned(0.5, 1, 2, 1)}, epsilon) == doctest::Approx(expected).epsilon(1e-3 * 1e-2));
    CHECK(delta({binned(0.5, 2, 8, 4)}, epsilon) == delta({binned(0.5, 1, 2, 1)}, epsilon));
    CHECK(delta({binned(0.5, 2, 2, 1), binned(0.5, 2, 6, 3)}, epsilon) == delta({binned(0.5, 1, 2, 1)}, epsilon));
    // No passes: each release may have the record.
    CHECK(delta({binned(0.5, 1, 1, 0)}, epsilon) == delta({binned(0.5, 1, 2, 1)}, epsilon));
    // One bin is a Gaussian release.
    CHECK(delta({binned(1, 1, 1, 1)}, epsilon) == doctest::Approx(gaussian_delta(1, epsilon)).epsilon(1e-12));
  }
  const double epsilon = Tight{}.epsilon(Spending{binned(0.5, 1, 2, 1)}, 0.059206).value;
  CHECK(epsilon == doctest::Approx(1).epsilon(1e-4));
}

TEST_CASE("the least of unequal noise counts; beside other releases, or in other bins, there is no amplification") {
  const double alone = delta({binned(0.1, 1, 10, 1)}, 1);
  CHECK(delta({binned(0.1, 1, 10, 1), binned(0.1, 5, 10, 1)}, 1) == delta({binned(0.1, 1, 20, 2)}, 1));
  const Spending beside{binned(0.1, 1, 10, 1), {.sampling = Sampling::full, .noise_multiplier = 100}};
  CHECK(delta(beside, 1) > delta({{.sampling = Sampling::full, .noise_multiplier = 1}}, 1));
  CHECK(Tight{}.delta(beside, 1).warning.find("without amplification") != std::string::npos);
  CHECK(delta({binned(0.1, 1, 10, 1), binned(0.2, 1, 5, 1)}, 1) == doctest::Approx(gaussian_delta(std::sqrt(2.0), 1)));
  // Others that have no curve for bins count them like that, too.
  CHECK(Rdp{}.delta(Spending{binned(0.1, 1, 10, 1)}, 1).value > alone);
  // Hardly any noise: amplification would hardly matter.
  CHECK(Tight{}.epsilon(Spending{binned(0.1, 0.05, 10, 1)}, 1e-5).value == doctest::Approx(gaussian_epsilon(20, 1e-5)));
}

TEST_CASE("bins are refused under replace-one neighbors, and rates that are no share of bins") {
  Releases replaced = binned(0.5, 1, 2, 1);
  replaced.neighbours = Neighbours::replace_one;
  CHECK_USAGE_ERROR(Tight{}.epsilon(Spending{replaced}, 1e-5), "balls-in-bins", "replace-one");
  CHECK_USAGE_ERROR(Rdp{}.epsilon(Spending{replaced}, 1e-5), "balls-in-bins", "replace-one");
  CHECK_USAGE_ERROR(Tight{}.epsilon(Spending{binned(0.3, 1, 2, 1)}, 1e-5), "0.3", "whole number of bins");
}

TEST_CASE("noise is calibrated for epochs in bins, less than for the same releases that say who is in them") {
  const auto in_epochs = [](Sampling sampling) {
    return calibrate(
        Tight{},
        [&](double noise) {
          return Spending{{.sampling = sampling, .rate = 0.05, .noise_multiplier = noise, .count = 60, .passes = 3}};
        },
        1, 1e-5);
  };
  const double noise = in_epochs(kSampling<BallsInBins>);
  CHECK(noise < in_epochs(Sampling::shuffle) / 2);
  CHECK(Tight{}.epsilon(Spending{binned(0.05, noise, 60, 3)}, 1e-5).value <= 1);
  CHECK(Tight{}.epsilon(Spending{binned(0.05, noise - 1e-3, 60, 3)}, 1e-5).value > 1);
}

TEST_CASE("a quick bound on bins is no lower than the exact one, and near it") {
  Tight quick;
  quick.quick = true;
  for (const double noise : {0.7, 1.5, 4.0}) {
    const Spending some{binned(0.05, noise, 60, 3)};
    const double exact = Tight{}.delta(some, 1).value, found = quick.delta(some, 1).value;
    CHECK(found >= exact);
    CHECK(found <= exact * 1.02 + 1e-12);
  }
}

}  // namespace fedstride::test::balls_in_bins_test
