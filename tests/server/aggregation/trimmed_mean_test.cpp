#include "server/aggregation/trimmed_mean.hpp"

#include <doctest/doctest.h>

#include "tests/kits/conformance.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::trimmed_mean_test {
namespace {

const TriedRound kFive{{vector_of({1e6F}), vector_of({0}), vector_of({2}), vector_of({3}), vector_of({1})}};

}  // namespace

TEST_CASE("floor(trim n) values are left out on each side") {
  CHECK(aggregated(TrimmedMean({.trim = 0.19}), kFive) == vector_of({(1e6F + 6) / 5}));  // floor(0.95) = 0
  CHECK(aggregated(TrimmedMean({.trim = 0.2}), kFive) == vector_of({2}));                // 1: the mean of 1, 2, 3
  CHECK(aggregated(TrimmedMean({.trim = 0.39}), kFive) == vector_of({2}));
  CHECK(aggregated(TrimmedMean({.trim = 0.4}), kFive) == vector_of({2}));  // 2: the median
}

TEST_CASE("a share with no exact double is taken as written") {
  TriedRound round;
  double sum = 0;
  for (int k = 0; k < 100; ++k) round.changes.push_back(vector_of({static_cast<float>(k * k)}));
  for (int k = 29; k < 71; ++k) sum += k * k;  // 0.29 x 100 = 29 on each side; in double 28.999...
  CHECK(aggregated(TrimmedMean({.trim = 0.29}), round) == vector_of({static_cast<float>(sum / 42)}));
}

TEST_CASE("something is always left") {
  for (const double trim : {0.0, 0.3, 0.49999999999999994}) {
    CHECK(aggregated(TrimmedMean({.trim = trim}), {{vector_of({7})}}) == vector_of({7}));
    CHECK(aggregated(TrimmedMean({.trim = trim}), {{vector_of({7}), vector_of({8})}}) == vector_of({7.5}));
    CHECK(aggregated(TrimmedMean({.trim = trim}), {std::vector<Vector>(100, vector_of({7}))}) == vector_of({7}));
  }
}

TEST_CASE("nothing trimmed is the mean") {
  const TriedRound round{{vector_of({1, -1}), vector_of({2, 0.5F}), vector_of({6, 0.25F})}};
  CHECK(aggregated(TrimmedMean({.trim = 0}), round) == vector_of({3, -0.25F / 3}));
}

}  // namespace fedstride::test::trimmed_mean_test
