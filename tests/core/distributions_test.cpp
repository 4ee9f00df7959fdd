#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/random.hpp"

namespace fedstride::test::distributions_test {
namespace {

constexpr int kDraws = 40000;

std::vector<double> draws(std::uint32_t row, const std::function<double(RandomStream&)>& draw) {
  RandomStream random(3, {.purpose = Purpose::test, .row = row});
  std::vector<double> values(kDraws);
  for (auto& value : values) value = draw(random);
  return values;
}

/// Largest distance between the empirical and the given distribution function, times sqrt(n) (Kolmogorov-Smirnov):
/// above 1.95 once in a thousand times.
double kolmogorov_smirnov(std::vector<double> values, const std::function<double(double)>& distribution) {
  std::sort(values.begin(), values.end());
  double distance = 0;
  const double n = static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = distribution(values[i]);
    distance = std::max({distance, std::abs(at - static_cast<double>(i) / n), std::abs(static_cast<double>(i + 1) / n - at)});
  }
  return distance * std::sqrt(n);
}

double moment(const std::vector<double>& values, int power, double about = 0) {
  double sum = 0;
  for (const double value : values) sum += std::pow(value - about, power);
  return sum / static_cast<double>(values.size());
}

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST_CASE("uniform draws fill [0, 1) evenly") {
  const auto doubles = draws(1, [](RandomStream& random) { return random.uniform(); });
  const auto floats = draws(2, [](RandomStream& random) { return static_cast<double>(random.uniform_float()); });
  for (const auto& values : {doubles, floats}) {
    CHECK(*std::min_element(values.begin(), values.end()) >= 0);
    CHECK(*std::max_element(values.begin(), values.end()) < 1);
    CHECK(kolmogorov_smirnov(values, [](double x) { return x; }) < 1.95);
  }
  for (const double value : floats) REQUIRE(value * 0x1p24 == std::floor(value * 0x1p24));
  CHECK(std::any_of(doubles.begin(), doubles.end(), [](double x) { return x * 0x1p24 != std::floor(x * 0x1p24); }));
}

TEST_CASE("normal draws have the normal distribution, its moments and its tails") {
  const auto values = draws(3, [](RandomStream& random) { return random.normal(); });
  const double n = kDraws;
  CHECK(kolmogorov_smirnov(values, normal_distribution) < 1.95);
  CHECK(std::abs(moment(values, 1)) < 4 * std::sqrt(1 / n));
  CHECK(std::abs(moment(values, 2) - 1) < 4 * std::sqrt(2 / n));
  CHECK(std::abs(moment(values, 3)) < 4 * std::sqrt(15 / n));
  CHECK(std::abs(moment(values, 4) - 3) < 4 * std::sqrt(96 / n));
  const double beyond = 2 * normal_distribution(-3);
  const double share =
      static_cast<double>(std::count_if(values.begin(), values.end(), [](double x) { return std::abs(x) > 3; })) / n;
  CHECK(std::abs(share - beyond) < 4 * std::sqrt(beyond / n));
}

TEST_CASE("the two values of one Box-Muller pair are uncorrelated, and so are their squares") {
  const auto values = draws(4, [](RandomStream& random) { return random.normal(); });
  double plain = 0;
  double squared = 0;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    plain += values[i] * values[i + 1];
    squared += (values[i] * values[i] - 1) * (values[i + 1] * values[i + 1] - 1);
  }
  const double pairs = kDraws / 2.0;
  CHECK(std::abs(plain / pairs) < 4 / std::sqrt(pairs));
  CHECK(std::abs(squared / pairs) < 4 * 2 / std::sqrt(pairs));
}

TEST_CASE("gamma draws have mean and variance equal to their shape") {
  for (const double shape : {0.1, 0.5, 1.0, 2.5, 50.0}) {
    CAPTURE(shape);
    const auto values = draws(5, [&](RandomStream& random) { return random.gamma(shape); });
    CHECK(*std::min_element(values.begin(), values.end()) > 0);
    CHECK(std::abs(moment(values, 1) - shape) < 4 * std::sqrt(shape / kDraws));
    // Fourth central moment 3 a^2 + 6 a, so the variance of the variance is (2 a^2 + 6 a) / n.
    CHECK(std::abs(moment(values, 2, shape) - shape) < 4 * std::sqrt((2 * shape * shape + 6 * shape) / kDraws));
  }
}

TEST_CASE("gamma of shape 1 is exponential, of shape 1/2 half a squared normal") {
  const auto one = draws(6, [](RandomStream& random) { return random.gamma(1); });
  CHECK(kolmogorov_smirnov(one, [](double x) { return 1 - std::exp(-x); }) < 1.95);
  const auto half = draws(7, [](RandomStream& random) { return random.gamma(0.5); });
  CHECK(kolmogorov_smirnov(half, [](double x) { return std::erf(std::sqrt(x)); }) < 1.95);
}

TEST_CASE("a gamma draw of a tiny shape keeps its logarithm where the draw itself underflows") {
  const double shape = 1e-5;
  // P(log X < x) tends to exp(shape x): -shape log X is exponential.
  const auto logs = draws(8, [&](RandomStream& random) { return -shape * random.log_of_gamma(shape); });
  CHECK(kolmogorov_smirnov(logs, [](double x) { return 1 - std::exp(-x); }) < 1.95);
  RandomStream random(4, {.purpose = Purpose::test});
  CHECK(random.gamma(shape) > 0);
}

TEST_CASE("the logarithm of a gamma draw is that of the same draw") {
  for (const double shape : {0.3, 1.0, 4.0}) {
    RandomStream plain(5, {.purpose = Purpose::test});
    RandomStream logarithmic(5, {.purpose = Purpose::test});
    for (int i = 0; i < 20; ++i)
      CHECK(std::log(plain.gamma(shape)) == doctest::Approx(logarithmic.log_of_gamma(shape)).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace fedstride::test::distributions_test
