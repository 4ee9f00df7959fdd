#include "server/aggregation/geometric_median.hpp"

#include <doctest/doctest.h>

#include "tests/kits/conformance.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::geometric_median_test {
namespace {

const TriedRound kThree{{vector_of({0}), vector_of({1}), vector_of({5})}};

float only_value(const GeometricMedianSettings& rule, const TriedRound& round) {
  return aggregated(GeometricMedian(rule), round).value()[0];
}

}  // namespace

TEST_CASE("one step worked out by hand") {
  // From the mean 2 the points are 2, 1 and 3 away: (0 / 2 + 1 / 1 + 5 / 3) / (1 / 2 + 1 + 1 / 3) = (8 / 3) / (11 / 6).
  CHECK(only_value({.iterations = 1}, kThree) == doctest::Approx(16.0 / 11));
  // Weights 2, 1, 1: from 1.5 they are 1.5, 0.5, 3.5 away: (2 + 10 / 7) / (4 / 3 + 2 + 2 / 7) = (24 / 7) / (76 / 21).
  TriedRound weighted = kThree;
  weighted.weights = {2, 1, 1};
  CHECK(only_value({.iterations = 1}, weighted) == doctest::Approx(18.0 / 19));
  // Nothing is nearer than 2.5: (0 / 2.5 + 1 / 2.5 + 5 / 3) / (1 / 2.5 + 1 / 2.5 + 1 / 3).
  CHECK(only_value({.iterations = 1, .smoothing = 2.5}, kThree) == doctest::Approx((0.4 + 5.0 / 3) / (0.8 + 1.0 / 3)));
}

TEST_CASE("many steps end at the geometric median") {
  CHECK(only_value({.iterations = 200}, kThree) == doctest::Approx(1).epsilon(1e-5));
  // The corners of a square and its center moved by (0.5, 0): that point has the smallest sum of distances.
  const TriedRound square{{vector_of({2, 2}), vector_of({2, -2}), vector_of({-2, 2}), vector_of({-2, -2}), vector_of({0.5, 0})}};
  const auto median = aggregated(GeometricMedian({.iterations = 300}), square);
  CHECK((*median)[0] == doctest::Approx(0.5).epsilon(1e-3));
  CHECK((*median)[1] == doctest::Approx(0));
}

TEST_CASE("with all updates within the smoothing it is the weighted mean, as with one or two updates") {
  TriedRound round{{vector_of({0}), vector_of({1}), vector_of({5})}, {1, 2, 1}};
  CHECK(only_value({.smoothing = 100}, round) == doctest::Approx(7.0 / 4));
  CHECK(only_value({}, {{vector_of({3})}}) == 3);
  CHECK(only_value({}, {{vector_of({3}), vector_of({4})}}) == 3.5F);
}

}  // namespace fedstride::test::geometric_median_test
