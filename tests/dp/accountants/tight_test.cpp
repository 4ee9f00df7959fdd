// Takes 10 s of processor time: schedules of ten thousand multipliers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "dp/accountants/accountants.hpp"
#include "dp/accountants/tight.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::tight_test {
namespace {

constexpr Tight kTight;

Spending poisson(double rate, double noise_multiplier, std::uint64_t count, Neighbours neighbours = Neighbours::add_remove) {
  return {{.neighbours = neighbours, .rate = rate, .noise_multiplier = noise_multiplier, .count = count}};
}
double epsilon(const Spending& spending, double delta) { return kTight.epsilon(spending, delta).value; }
double delta(const Spending& spending, double at) { return kTight.delta(spending, at).value; }

/// An upper bound, and by so little.
void check_just_above(double value, double exact, double excess) {
  CAPTURE(value);
  CAPTURE(exact);
  CHECK(value >= exact * (1 - 1e-10));
  CHECK(value <= exact + excess);
}

double above(double x) { return std::erfc(x / std::sqrt(2.0)) / 2; }

/// delta of mu-Gaussian differential privacy (Balle, Wang 2018, Theorem 8).
double gaussian(double mu, double at) { return above(at / mu - mu / 2) - std::exp(at) * above(at / mu + mu / 2); }

/// delta of one sampled release, a record removed: P - e^epsilon Q where that is positive, beyond one point.
double one_release(double rate, double sigma, double at) {
  const double x = 0.5 + sigma * sigma * std::log((std::exp(at) - 1 + rate) / rate);
  return (1 - rate - std::exp(at)) * above(x / sigma) + rate * above((x - 1) / sigma);
}
/// Replace-one: the likelihood ratio grows with x, so there too one point, found by bisection.
double one_replacement(double rate, double sigma, double at) {
  const auto mixture = [&](double x, double mean) {
    return (1 - rate) * std::exp(-x * x / (2 * sigma * sigma)) + rate * std::exp(-(x - mean) * (x - mean) / (2 * sigma * sigma));
  };
  double low = 0;
  double high = 30 * sigma;
  for (int i = 0; i < 200; ++i) {
    const double x = (low + high) / 2;
    (mixture(x, 1) > std::exp(at) * mixture(x, -1) ? high : low) = x;
  }
  return (1 - rate) * (1 - std::exp(at)) * above(low / sigma) + rate * above((low - 1) / sigma) -
         std::exp(at) * rate * above((low + 1) / sigma);
}

}  // namespace

TEST_CASE("Settings of the literature come out as a contour integral in 30 digits has them") {
  check_just_above(epsilon(poisson(0.01, 4, 10000), 1e-5), 0.9468668007734211, 1e-7);
  check_just_above(epsilon(poisson(0.01, 4, 10000), 1e-12), 1.7111437399923597, 1e-7);
  check_just_above(epsilon(poisson(256.0 / 60000, 1.1, 14063), 1e-5), 2.3816897261787906, 1e-7);
  check_just_above(epsilon(poisson(0.04, 1.5, 2250), 1e-5), 6.768780393418098, 1e-7);
  check_just_above(epsilon(poisson(0.2, 1, 500), 1e-5), 38.17024720649823, 1e-6);
  check_just_above(epsilon(poisson(1.0 / 300, 4, 30000), 1e-5), 0.5183308621642755, 1e-7);
  check_just_above(epsilon(poisson(0.004, 2, 25000), 1e-5), 1.2954388790195939, 1e-7);
  check_just_above(epsilon(poisson(0.004, 8, 25000), 1e-5), 0.2652290156855479, 1e-7);
  check_just_above(epsilon(poisson(0.03, 0.8, 1000), 0.0001304287076951891), 8.402477285311614, 1e-6);
  check_just_above(epsilon(poisson(256.0 / 60000, 1.1, 14063, Neighbours::replace_one), 1e-5), 4.221469903057884, 1e-7);
  check_just_above(delta(poisson(0.01, 4, 10000), 1), 4.243484253088478e-06, 1e-11);
  check_just_above(delta(poisson(256.0 / 60000, 1.1, 14063), 3), 8.769436494553412e-08, 1e-12);
}

TEST_CASE("One sampled release agrees with its closed form") {
  for (const double rate : {1e-4, 0.01, 0.3, 0.99})
    for (const double sigma : {0.4, 1.0, 5.0})
      for (const double at : {1e-3, 0.02, 0.5, 2.0}) {
        CAPTURE(rate);
        CAPTURE(sigma);
        CAPTURE(at);
        if (const double exact = one_release(rate, sigma, at); exact > 1e-13)
          check_just_above(delta(poisson(rate, sigma, 1), at), exact, 1e-3 * exact);
        if (const double exact = one_replacement(rate, sigma, at); exact > 1e-13)
          check_just_above(delta(poisson(rate, sigma, 1, Neighbours::replace_one), at), exact, 1e-3 * exact);
      }
}

TEST_CASE("The total variation of two releases under replace-one is that of their sum, in closed form") {
  // log P/Q is odd and rises, so that of two outcomes is positive where their sum is.
  for (const auto& [rate, sigma] : {std::pair{0.00027311638049455568, 0.70385759134256831}, {0.1, 2.0}, {0.6, 1.0}}) {
    const double sum = 2 * rate * (1 - rate) * (1 - 2 * above(1 / (sigma * std::sqrt(2.0)))) +
                       rate * rate * (1 - 2 * above(2 / (sigma * std::sqrt(2.0))));
    check_just_above(delta(poisson(rate, sigma, 2, Neighbours::replace_one), 0), sum, 1e-3 * sum);
  }
}

TEST_CASE("Releases of every record are Gaussian differential privacy, whatever they are called") {
  for (const double mu : {1e-3, 0.1, 1.0, 5.0, 20.0}) {
    for (const double at : {0.0, mu, mu * mu / 2 + 3 * mu}) {
      const double exact = gaussian(mu, at);
      if (exact < 1e-12) continue;
      CAPTURE(mu);
      CAPTURE(at);
      check_just_above(delta({{.sampling = Sampling::full, .noise_multiplier = 2 / mu, .count = 4}}, at), exact, 1e-6 * exact);
      check_just_above(delta(poisson(1, 2 / mu, 1, Neighbours::replace_one), at), exact, 1e-6 * exact);
      check_just_above(
          delta({{.sampling = Sampling::shuffle, .rate = 0.1, .noise_multiplier = 3 / mu, .count = 90, .passes = 9}}, at), exact,
          1e-6 * exact);
    }
  }
  // Hong et al.: 100 releases whose 1 / sigma^2 sum to 1/2; Yu et al.: replace-one with a clip falling to half.
  Spending hong;
  for (int t = 0; t < 100; ++t) {
    double sum = 0;
    for (int i = 0; i < 100; ++i) sum += std::pow(0.99, (99 - i) / 2.0);
    const double share = 0.5 * std::pow(0.99, (99 - t) / 2.0);
    hong.push_back({.sampling = Sampling::full, .noise_multiplier = std::sqrt(sum / share)});
  }
  check_just_above(epsilon(hong, 1e-5), 2.9432252398013645, 1e-7);
  Spending yu;
  for (int t = 1; t <= 1000; ++t)
    yu.push_back({.sampling = Sampling::full,
                  .neighbours = Neighbours::replace_one,
                  .noise_multiplier = 80 / std::max(0.5, 1 - t / 1000.0)});
  check_just_above(epsilon(yu, 2.7777777777777777e-10), 3.0815914047785062, 1e-7);
}

TEST_CASE("Sampled releases and releases of every record compose") {
  // A rate this close to 1 is 1.
  Spending both = poisson(1 - 1e-13, 3, 5);
  both.push_back({.sampling = Sampling::full, .noise_multiplier = 2, .count = 3});
  check_just_above(delta(both, 4), gaussian(std::sqrt(5.0 / 9 + 3.0 / 4), 4), 1e-8);
}

TEST_CASE("Schedules of ten thousand different multipliers come out") {
  const auto falling_clip = [](double rate, double sigma, int steps) {
    Spending spending;
    for (int t = 1; t <= steps; ++t)
      spending.push_back({.rate = rate, .noise_multiplier = sigma * std::min(2.0, 1 + static_cast<double>(t) / steps)});
    return spending;
  };
  check_just_above(epsilon(falling_clip(0.01, 4, 10000), 1e-5), 0.6427699819160493, 1e-7);
  check_just_above(epsilon(falling_clip(256.0 / 60000, 1.1, 14063), 1e-5), 1.4519088880972801, 1e-6);
  // They are interpolated, which is checked at some.
  const auto composition = tight::Schedule(falling_clip(0.01, 4, 10000)).composition(tight::Pair::remove);
  CHECK(composition.interpolated == 10000);
  CHECK(composition.parts.size() < 200);
  CHECK(composition.checks.size() == 12);
}

TEST_CASE("Interpolated schedules agree with those taken as they are") {
  // The same releases as twelve different steps counted many times, and with all of them told apart.
  Spending few;
  Spending many;
  for (int t = 0; t < 12; ++t) {
    const double sigma = 0.9 + 0.1 * t;
    few.push_back({.rate = 0.01, .noise_multiplier = sigma, .count = 100});
    for (int i = 0; i < 100; ++i) many.push_back({.rate = 0.01, .noise_multiplier = sigma * (1 + 1e-9 * (i - 49.5))});
  }
  const double exact = epsilon(few, 1e-6);
  CHECK(std::abs(epsilon(many, 1e-6) - exact) < 2e-5);
}

TEST_CASE("More steps, less noise and a larger rate cost more") {
  for (const auto neighbours : {Neighbours::add_remove, Neighbours::replace_one}) {
    double last = 0;
    for (const std::uint64_t steps : {1U, 3U, 30U, 1000U, 100000U}) {
      const double value = epsilon(poisson(0.01, 1.2, steps, neighbours), 1e-6);
      CHECK(value > last);
      last = value;
    }
    last = 1e300;
    for (const double sigma : {0.3, 0.5, 1.0, 2.0, 10.0}) {
      const double value = epsilon(poisson(0.01, sigma, 300, neighbours), 1e-6);
      CHECK(value < last);
      last = value;
    }
    last = 0;
    for (const double rate : {1e-4, 1e-3, 0.02, 0.5, 1.0}) {
      const double value = epsilon(poisson(rate, 1, 300, neighbours), 1e-6);
      CHECK(value > last);
      last = value;
    }
  }
}

TEST_CASE("Epsilon and delta are inverse to each other") {
  for (const auto neighbours : {Neighbours::add_remove, Neighbours::replace_one})
    for (const double target : {1e-12, 1e-9, 1e-5, 1e-3})
      for (const auto& spending : {poisson(0.02, 1, 500, neighbours), poisson(0.001, 0.6, 2000, neighbours),
                                   poisson(0.5, 20, 100, neighbours), poisson(1e-4, 0.8, 50, neighbours)}) {
        const double there = epsilon(spending, target);
        CAPTURE(target);
        CAPTURE(there);
        if (there > 0) CHECK(delta(spending, there) <= target * 1.002);
        if (there > 1e-3) CHECK(delta(spending, there - 2e-4) > target);
      }
}

TEST_CASE("A count is that many entries, in any order") {
  Spending apart(7, poisson(0.05, 1.5, 1).front());
  apart.push_back({.rate = 0.02, .noise_multiplier = 1});
  apart.insert(apart.begin(), {.rate = 0.02, .noise_multiplier = 1, .count = 2});
  Spending together = poisson(0.05, 1.5, 7);
  together.push_back({.rate = 0.02, .noise_multiplier = 1, .count = 3});
  CHECK(epsilon(apart, 1e-5) == epsilon(together, 1e-5));
  CHECK(delta(apart, 0.5) == delta(together, 0.5));
}

TEST_CASE("Nothing spent is nothing, and a distance below delta is epsilon 0") {
  CHECK(epsilon({}, 1e-5) == 0);
  CHECK(delta({}, 1) == 0);
  CHECK(epsilon(poisson(0.01, 1, 0), 1e-5) == 0);
  // The total variation distance q (2 Phi(1 / 2 sigma) - 1) = 4.0e-4 (tensorflow/privacy, issue 166).
  CHECK(epsilon(poisson(1e-3, 0.95, 1), 1e-3) == 0);
  check_just_above(delta(poisson(1e-3, 0.95, 1), 0), 1e-3 * std::erf(1 / (0.95 * std::sqrt(8.0))), 1e-7);
}

TEST_CASE("Extreme settings give finite numbers from 0") {
  for (const auto neighbours : {Neighbours::add_remove, Neighbours::replace_one})
    for (const auto& [rate, sigma, steps] : {std::tuple{1e-8, 1000.0, 10'000'000U},
                                             {1e-8, 0.2, 10'000'000U},
                                             {1.0, 0.2, 10'000'000U},
                                             {0.999, 0.2, 1'000'000U},
                                             {1.0, 1000.0, 1U},
                                             {1e-8, 0.2, 1U},
                                             {3e-7, 1.0, 100'000U}}) {
      const auto spending = poisson(rate, sigma, steps, neighbours);
      for (const double target : {1e-12, 1e-5, 0.9}) {
        CAPTURE(rate);
        CAPTURE(sigma);
        CAPTURE(steps);
        CAPTURE(target);
        const double value = epsilon(spending, target);
        CHECK(std::isfinite(value));
        CHECK(value >= 0);
        const double back = delta(spending, value);
        CHECK(back >= 0);
        CHECK(back <= 1);
      }
    }
}

TEST_CASE("What has no loss distribution is refused, and says why") {
  const auto refused = [](const Spending& spending) { return kTight.epsilon(spending, 1e-5); };
  CHECK_USAGE_ERROR(refused({{.adaptive = true}}), "tight", "zcdp");
  CHECK_USAGE_ERROR(refused({{.sampling = Sampling::without_replacement, .neighbours = Neighbours::replace_one, .rate = 0.1}}),
                    "tight", "rdp");
  CHECK_USAGE_ERROR(refused({{.neighbours = Neighbours::replace_one}, {.neighbours = Neighbours::add_remove}}), "replace-one",
                    "add-remove");
  CHECK_USAGE_ERROR(refused(poisson(0.01, 0, 1)), "noise multiplier", "0");
  CHECK_USAGE_ERROR(kTight.epsilon(poisson(0.01, 1, 1), 0), "delta", "0");
  CHECK_USAGE_ERROR(kTight.delta(poisson(0.01, 1, 1), -1), "epsilon", " -1");
}

}  // namespace fedstride::test::tight_test
