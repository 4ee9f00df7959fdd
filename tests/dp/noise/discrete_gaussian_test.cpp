#include "dp/noise/discrete_gaussian.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace fedstride::test::discrete_gaussian_test {
namespace {

SecretKey some_key() {
  SecretKey key{};
  key[1] = 200;
  return key;
}

double mass(int x, double sigma) { return std::exp(-x * x / (2 * sigma * sigma)); }

TEST_CASE("small sigmas: the counts are those of exp(-x^2 / (2 sigma^2)), by chi-square") {
  const std::pair<std::uint64_t, std::uint64_t> sigmas[] = {{1, 1}, {2, 1}, {3, 1}, {7, 1}, {3, 2}, {37, 16}, {151'388, 1 << 16}};
  for (const auto& [p, q] : sigmas) {
    CAPTURE(p);
    CAPTURE(q);
    const DiscreteGaussian draw(p, q);
    RandomStream random(6, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(p)});
    const int draws = 60000;
    std::map<int, double> counts;
    for (int i = 0; i < draws; ++i) ++counts[static_cast<int>(draw(random))];
    const double width = static_cast<double>(p) / static_cast<double>(q);
    double total = 0;
    for (int x = -200; x <= 200; ++x) total += mass(x, width);
    double chi_square = 0;
    double freedom = -1;
    double rare = 0;
    double expected_rare = 0;
    for (int x = -200; x <= 200; ++x) {
      const double expected = draws * mass(x, width) / total;
      if (expected < 10) {
        rare += counts[x];
        expected_rare += expected;
        continue;
      }
      chi_square += (counts[x] - expected) * (counts[x] - expected) / expected;
      ++freedom;
    }
    CHECK(chi_square < freedom + 4 * std::sqrt(2 * freedom));
    CHECK(std::abs(rare - expected_rare) < 4 * std::sqrt(expected_rare) + 1);
  }
}

TEST_CASE("the variance of sigma = 1 is the discrete one, and so is the mass at zero") {
  // sum x^2 exp(-x^2/2) / sum exp(-x^2/2) = 0.99999978894...; the mass at 0 is 0.3989422.
  const DiscreteGaussian draw(1);
  RandomStream random(7, {.purpose = Purpose::test});
  const int draws = 200000;
  double squares = 0;
  double zeros = 0;
  for (int i = 0; i < draws; ++i) {
    const auto x = static_cast<double>(draw(random));
    squares += x * x;
    zeros += x == 0 ? 1 : 0;
  }
  CHECK(std::abs(squares / draws - 1) < 4 * std::sqrt(2.0 / draws));
  CHECK(std::abs(zeros / draws - 0.3989422) < 4 * std::sqrt(0.24 / draws));
}

TEST_CASE("large sigmas: moments, distribution function and low bits, seeded and secret, to sigma = 2^62") {
  const RandomSource sources[] = {RandomSource(std::uint64_t{8}), RandomSource(some_key())};
  for (const auto& source : sources)
    for (const std::uint64_t sigma : {std::uint64_t{1000003}, std::uint64_t{1} << 40, std::uint64_t{1} << 62}) {
      CAPTURE(sigma);
      const DiscreteGaussian draw(sigma);
      RandomStream random = source.at({.purpose = Purpose::test, .row = static_cast<std::uint32_t>(sigma % 97)});
      const int draws = 40000;
      std::vector<double> values(draws);
      double moments[5] = {};
      double low_bits[8] = {};
      for (double& value : values) {
        const __int128 x = draw(random);
        ++low_bits[static_cast<unsigned>(x & 7)];
        value = static_cast<double>(x) / static_cast<double>(sigma);
        double power = 1;
        for (double& moment : moments) {
          moment += power / draws;
          power *= value;
        }
      }
      CHECK(std::abs(moments[1]) < 4 * std::sqrt(1.0 / draws));
      CHECK(std::abs(moments[2] - 1) < 4 * std::sqrt(2.0 / draws));
      CHECK(std::abs(moments[3]) < 4 * std::sqrt(15.0 / draws));
      CHECK(std::abs(moments[4] - 3) < 4 * std::sqrt(96.0 / draws));
      double chi_square = 0;
      for (const double count : low_bits) chi_square += (count - draws / 8.0) * (count - draws / 8.0) / (draws / 8.0);
      CHECK(chi_square < 7 + 5 * std::sqrt(2 * 7.0));
      std::ranges::sort(values);
      double distance = 0;
      for (int i = 0; i < draws; ++i) {
        const double at = 0.5 * std::erfc(-values[static_cast<std::size_t>(i)] / std::sqrt(2.0));
        distance = std::max({distance, at - static_cast<double>(i) / draws, (i + 1.0) / draws - at});
      }
      CHECK(distance * std::sqrt(draws) < 1.95);
    }
}

TEST_CASE("a sigma out of range is refused") {
  for (const std::uint64_t sigma : {std::uint64_t{0}, (std::uint64_t{1} << 62) + 1, ~std::uint64_t{0}})
    CHECK_THROWS_AS(DiscreteGaussian{sigma}, Error);
  CHECK_THROWS_AS(DiscreteGaussian(3, 4), Error);  // below 1
  CHECK_THROWS_AS(DiscreteGaussian(3, 0), Error);
  CHECK_THROWS_AS(DiscreteGaussian(std::uint64_t{1} << 30, (1 << 20) + 1), Error);
}

}  // namespace
}  // namespace fedstride::test::discrete_gaussian_test
