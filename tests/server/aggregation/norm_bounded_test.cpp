#include "server/aggregation/norm_bounded.hpp"

#include <doctest/doctest.h>

#include "server/aggregation/weighted_mean.hpp"
#include "tests/kits/conformance.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::norm_bounded_test {
namespace {

const TriedRound kTwo{{vector_of({3, 4}), vector_of({0, 1})}, {1, 3}};

}  // namespace

TEST_CASE("longer updates are scaled down, then the weighted mean is taken") {
  // Norms 5 and 1, bound 1: (3, 4) becomes (0.6, 0.8), and 1/4 of it with 3/4 of (0, 1) is (0.15, 0.95).
  const auto change = aggregated(NormBounded({.norm_bound = 1}), kTwo);
  CHECK((*change)[0] == doctest::Approx(0.15));
  CHECK((*change)[1] == doctest::Approx(0.95));
}

TEST_CASE("with 0 the bound is the median of the norms") {
  // Between 5 and 1 it is 3: (3, 4) becomes (1.8, 2.4), and 1/4 of it with 3/4 of (0, 1) is (0.45, 1.35).
  const auto even = aggregated(NormBounded{}, kTwo);
  CHECK((*even)[0] == doctest::Approx(0.45));
  CHECK((*even)[1] == doctest::Approx(1.35));
  // Among 1, 2 and 100 it is 2: (1 + 2 + 2) / 3.
  CHECK((*aggregated(NormBounded{}, {{vector_of({1}), vector_of({100}), vector_of({2})}}))[0] == doctest::Approx(5.0 / 3));
}

TEST_CASE("with a bound beyond all norms it is the weighted mean") {
  const auto bounded = aggregated(NormBounded({.norm_bound = 1e9}), kTwo);
  const auto mean = aggregated(WeightedMean{}, kTwo);
  CHECK(*bounded == *mean);  // (0.75, 1.75)
}

TEST_CASE("updates without a norm stay, and bound the others at 0") {
  CHECK(aggregated(NormBounded{}, {{vector_of({0}), vector_of({0}), vector_of({8})}}) == vector_of({0}));
  CHECK(aggregated(NormBounded{}, {{vector_of({0})}}) == vector_of({0}));
}

}  // namespace fedstride::test::norm_bounded_test
