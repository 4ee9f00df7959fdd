#include "partitions/continuous.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::continuous_test {
namespace {

// The mean property of each client's rows.
std::vector<double> means(const ClientRows& assignment, const Example& example) {
  std::vector<double> result;
  for (const auto rows : assignment) {
    double sum = 0;
    for (const std::uint32_t row : rows) sum += example.property[row];
    result.push_back(sum / static_cast<double>(rows.size()));
  }
  return result;
}

}  // namespace

TEST_CASE("a strictness of 1 sorts by the property, one of 0 does not look at it") {
  Example example(round_robin_labels(5000, 10), 10, 5);
  const ClientRows sorted = Continuous({.strictness = 1}).assign(example.input);
  CHECK(holds_every_row_once(sorted, example));
  float largest = -1;
  for (const auto rows : sorted) {
    CHECK(rows.size() == 1000);
    float next = largest;
    for (const std::uint32_t row : rows) {
      CHECK(example.property[row] >= largest);
      next = std::max(next, example.property[row]);
    }
    largest = next;
  }
  for (const double mean : means(Continuous({.strictness = 0}).assign(example.input), example))
    CHECK(std::abs(mean - 0.5) < 5 * std::sqrt(1.0 / 12 / 1000));
}

TEST_CASE("in between, scores are correlated with the property by s / sqrt(s^2 + (1 - s)^2)") {
  // A score s z + (1 - s) e: of two clients, the second holds the larger half. For z normal the mean of z there is
  // rho sqrt(2 / pi). Property and noise have unit variance.
  Example example(round_robin_labels(20000, 10), 10, 2);
  RandomStream random(5, {.purpose = Purpose::test, .round = 3});
  for (float& value : example.property) value = static_cast<float>(7 + 3 * random.normal());
  for (const double strictness : {0.25, 0.5, 0.75}) {
    const auto found = means(Continuous({.strictness = strictness}).assign(example.input), example);
    const double rho = strictness / std::hypot(strictness, 1 - strictness);
    CHECK((found[1] - found[0]) / 6 == doctest::Approx(rho * std::sqrt(2 / std::acos(-1.0))).epsilon(0.05));
  }
}

TEST_CASE("a constant property is no property, and one that is missing or not finite is refused") {
  Example example(round_robin_labels(100, 10), 10, 4);
  std::fill(example.property.begin(), example.property.end(), 3.0F);
  CHECK(holds_every_row_once(Continuous({.strictness = 1}).assign(example.input), example));
  example.property[17] = std::numeric_limits<float>::infinity();
  CHECK_USAGE_ERROR(Continuous{}.assign(example.input), "property", "inf", "17");
  example.input.property = {};
  CHECK_USAGE_ERROR(Continuous{}.assign(example.input), "partition", "'continuous'", "0", "100");
}

}  // namespace fedstride::test::continuous_test
