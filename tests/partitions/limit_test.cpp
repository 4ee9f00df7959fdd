#include "partitions/client_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "partitions/iid.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::limit_test {

TEST_CASE("a limit keeps that many of each client's own rows, and all of those who have fewer") {
  const ClientRows before = Assignment{{1, 3, 5, 7, 9, 11}, {2, 4}, {0, 6, 8}};
  const ClientRows assignment = limit_per_client(before, 3, 1);
  CHECK(assignment[0].size() == 3);
  CHECK(std::includes(before[0].begin(), before[0].end(), assignment[0].begin(), assignment[0].end()));
  CHECK(std::ranges::equal(assignment[1], before[1]));
  CHECK(std::ranges::equal(assignment[2], before[2]));
}

TEST_CASE("a larger limit keeps what a smaller one keeps, and another seed keeps other rows") {
  Example example(round_robin_labels(3000, 10), 10, 3);
  const ClientRows all = Iid{}.assign(example.input);
  const ClientRows ten = limit_per_client(all, 10, 1);
  const ClientRows hundred = limit_per_client(all, 100, 1);
  const ClientRows other = limit_per_client(all, 10, 2);
  for (std::size_t client = 0; client < 3; ++client)
    CHECK(std::includes(hundred[client].begin(), hundred[client].end(), ten[client].begin(), ten[client].end()));
  CHECK(ten != other);
}

TEST_CASE("a limit of no rows is refused") {
  CHECK_USAGE_ERROR(limit_per_client(Assignment{{1}}, 0, 1), "limit-per-client", "0", "1");
}

}  // namespace fedstride::test::limit_test
