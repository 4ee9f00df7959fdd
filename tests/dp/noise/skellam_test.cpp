// Poisson and Skellam draws against exact probabilities; with few bits, so that what rounding left decides often.
#include "dp/noise/skellam.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <vector>

#include "core/error.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::skellam_test {
namespace {

std::vector<double> poisson_masses(double rate, int most) {
  std::vector<double> masses{std::exp(-rate)};
  for (int k = 1; k <= most; ++k) masses.push_back(masses.back() * rate / k);
  return masses;
}

/// P(X = -most), ..., P(X = most) of a difference of two Poisson numbers.
std::vector<double> skellam_masses(double variance, int most) {
  const auto one = poisson_masses(variance / 2, 4 * most);
  std::vector<double> masses;
  for (int x = -most; x <= most; ++x) {
    double sum = 0;
    for (int k = std::max(x, 0); k < 4 * most && k - x < 4 * most; ++k)
      sum += one[static_cast<std::size_t>(k)] * one[static_cast<std::size_t>(k - x)];
    masses.push_back(sum);
  }
  return masses;
}

/// True if the counts of `lowest`, lowest + 1, ... are those of the masses, by chi-square at about 4 deviations.
bool fits(std::map<std::int64_t, double>& counts, double draws, std::int64_t lowest, const std::vector<double>& masses) {
  double chi_square = 0, freedom = -1, rare = draws, expected_rare = draws;
  for (std::size_t i = 0; i < masses.size(); ++i) {
    const double expected = draws * masses[i];
    if (expected < 10) continue;
    const double count = counts[lowest + static_cast<std::int64_t>(i)];
    chi_square += (count - expected) * (count - expected) / expected;
    rare -= count;
    expected_rare -= expected;
    ++freedom;
  }
  CAPTURE(chi_square);
  CAPTURE(freedom);
  CHECK(std::abs(rare - expected_rare) < 4 * std::sqrt(expected_rare + 1) + 1);
  return chi_square < freedom + 4 * std::sqrt(2 * freedom) + 4;
}

TEST_CASE("Poisson counts are those of exact probabilities, with 6, 9 and 62 bits of the table") {
  for (const double rate : {0.125, 1.0, 3.0, 5.5, 40.25})
    for (const unsigned precision : {6U, 9U, 62U}) {
      CAPTURE(rate);
      CAPTURE(precision);
      const Poisson poisson(static_cast<std::uint64_t>(rate / Poisson::kUnit), precision < 9 && rate > 40 ? 9 : precision);
      RandomStream random(9, {.purpose = Purpose::test, .row = precision});
      std::map<std::int64_t, double> counts;
      const int draws = 60000;
      for (int i = 0; i < draws; ++i) ++counts[static_cast<std::int64_t>(poisson(random))];
      CHECK(fits(counts, draws, 0, poisson_masses(rate, 200)));
    }
}

TEST_CASE("a sum of five clients' Skellam draws has the exact probabilities of one of five times the variance") {
  for (const double variance : {0.25, 2.0, 7.5}) {
    CAPTURE(variance);
    const Skellam skellam(variance);
    CHECK(skellam.variance() == variance);
    RandomStream random(10, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(4 * variance)});
    std::map<std::int64_t, double> counts;
    const int draws = 60000;
    for (int i = 0; i < draws; ++i) {
      std::int64_t sum = 0;
      for (int client = 0; client < 5; ++client) sum += skellam(random);
      ++counts[sum];
    }
    CHECK(fits(counts, draws, -60, skellam_masses(5 * variance, 60)));
  }
}

TEST_CASE("large variances: moments to the fourth, never below the one asked for") {
  for (const double variance : {1e4 + 0.3, 1e7 + 0.7, 2e9}) {
    CAPTURE(variance);
    const Skellam skellam(variance);
    CHECK(skellam.variance() >= variance);
    CHECK(skellam.variance() <= variance + 2);
    RandomStream random(11, {.purpose = Purpose::test});
    const int draws = 100000;
    double mean = 0, square = 0, fourth = 0;
    for (int i = 0; i < draws; ++i) {
      const double x = static_cast<double>(skellam(random)) / std::sqrt(variance);
      mean += x / draws;
      square += x * x / draws;
      fourth += x * x * x * x / draws;
    }
    CHECK(std::abs(mean) < 4 * std::sqrt(1.0 / draws));
    CHECK(std::abs(square - 1) < 4 * std::sqrt(2.0 / draws));
    CHECK(std::abs(fourth - 3) < 4 * std::sqrt(96.0 / draws));
  }
}

TEST_CASE("variances out of range are refused") {
  for (const double variance : {0.0, -1.0, 3e9, std::nan("")}) CHECK_USAGE_ERROR(Skellam{variance}, "variance", "2147483648");
}

}  // namespace
}  // namespace fedstride::test::skellam_test
