#include "server/aggregation/krum.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/kits/conformance.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::krum_test {
namespace {

// n = 5. Squared distances to the others, rising:
//   client 0 at 0:    1  9 16 10000
//   client 1 at 1:    1  4  9  9801
//   client 2 at 3:    1  4  9  9409
//   client 3 at 4:    1  9 16  9216
//   client 4 at 100:  9216 9409 9801 10000
const TriedRound kFive{{vector_of({0}), vector_of({1}), vector_of({3}), vector_of({4}), vector_of({100})}};

}  // namespace

TEST_CASE("Krum takes the smallest score, of equal scores the smaller client's") {
  // f = 1: two neighbors; the scores are 10, 5, 5, 10, 18625.
  CHECK(aggregated(Krum({.byzantine = 1}), kFive) == vector_of({1}));
  // f = 0: three; they are 26, 14, 14, 26, 28426.
  CHECK(aggregated(Krum({.byzantine = 0}), kFive) == vector_of({1}));
  TriedRound turned = kFive;
  std::ranges::reverse(turned.changes);
  CHECK(aggregated(Krum({.byzantine = 1}), turned) == vector_of({3}));
}

TEST_CASE("Multi-Krum averages the best, at most n - f - 2") {
  CHECK(aggregated(MultiKrum({.byzantine = 1, .selected = 1}), kFive) == vector_of({1}));
  CHECK(aggregated(MultiKrum({.byzantine = 1, .selected = 2}), kFive) == vector_of({2}));  // of 1 and 3
  CHECK(aggregated(MultiKrum({.byzantine = 1, .selected = 0}), kFive) == vector_of({2}));
  CHECK(aggregated(MultiKrum({.byzantine = 1, .selected = 100}), kFive) == vector_of({2}));
  // f = 0: three, and the third is client 0, not 3.
  CHECK(aggregated(MultiKrum({.byzantine = 0}), kFive) == vector_of({4.0F / 3}));
}

TEST_CASE("the fewest updates are 2 f + 3, and fewer give no change") {
  CHECK(Krum({.byzantine = 0}).least_updates() == 3);
  CHECK(MultiKrum({.byzantine = 4}).least_updates() == 11);
  CHECK_FALSE(aggregated(Krum({.byzantine = 2}), kFive));
  CHECK(aggregated(Krum({.byzantine = 0}), {{vector_of({5}), vector_of({2}), vector_of({1})}}) == vector_of({2}));
}

TEST_CASE("equal updates are nearest to each other") {
  TriedRound round{{vector_of({9, 1}), vector_of({2, 2}), vector_of({3, 2}), vector_of({9, 1}), vector_of({9, 1})}};
  CHECK(aggregated(Krum({.byzantine = 1}), round) == vector_of({9, 1}));
  CHECK(aggregated(MultiKrum({.byzantine = 1}), round) == vector_of({9, 1}));
}

}  // namespace fedstride::test::krum_test
