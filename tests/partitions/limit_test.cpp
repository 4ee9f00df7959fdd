#include "partitions/limit.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "partitions/iid.hpp"
#include "tests/partitions/examples.hpp"

namespace fedstride::test::limit_test {

TEST_CASE("a limit keeps that many of each client's own rows, and all of those who have fewer") {
  Assignment assignment = {{1, 3, 5, 7, 9, 11}, {2, 4}, {0, 6, 8}};
  const Assignment before = assignment;
  limit_per_client(assignment, 3, 1);
  CHECK(assignment[0].size() == 3);
  CHECK(std::includes(before[0].begin(), before[0].end(), assignment[0].begin(), assignment[0].end()));
  CHECK(assignment[1] == before[1]);
  CHECK(assignment[2] == before[2]);
}

TEST_CASE("a larger limit keeps what a smaller one keeps, and another seed keeps other rows") {
  Example example(round_robin_labels(3000, 10), 10, 3);
  Assignment ten = Iid{}.assign(example.input);
  Assignment hundred = ten;
  Assignment other = ten;
  limit_per_client(ten, 10, 1);
  limit_per_client(hundred, 100, 1);
  limit_per_client(other, 10, 2);
  for (std::size_t client = 0; client < 3; ++client)
    CHECK(std::includes(hundred[client].begin(), hundred[client].end(), ten[client].begin(), ten[client].end()));
  CHECK(ten != other);
}

TEST_CASE("a limit of no rows is refused") {
  Assignment assignment = {{1}};
  CHECK_THROWS_WITH(limit_per_client(assignment, 0, 1), "limit-per-client is 0; it must be a whole number from 1");
}

}  // namespace fedstride::test::limit_test
