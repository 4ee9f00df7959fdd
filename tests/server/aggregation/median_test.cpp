#include "server/aggregation/median.hpp"

#include <doctest/doctest.h>

#include "tests/kits/conformance.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::median_test {

TEST_CASE("the middle value of each coordinate") {
  CHECK(aggregated(Median{}, {{vector_of({1, 9}), vector_of({5, 7}), vector_of({2, 8})}}) == vector_of({2, 8}));
}

TEST_CASE("for an even number the mean of the two middle values") {
  CHECK(aggregated(Median{}, {{vector_of({100}), vector_of({1}), vector_of({4}), vector_of({2})}}) == vector_of({3}));
  CHECK(aggregated(Median{}, {{vector_of({1}), vector_of({4})}}) == vector_of({2.5}));
}

TEST_CASE("one update is its own median, and equal updates theirs") {
  CHECK(aggregated(Median{}, {{vector_of({0.1F, -3})}}) == vector_of({0.1F, -3}));
  CHECK(aggregated(Median{}, {std::vector<Vector>(6, vector_of({0.1F, -3}))}) == vector_of({0.1F, -3}));
}

}  // namespace fedstride::test::median_test
