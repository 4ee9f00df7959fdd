#include "partitions/shards.hpp"

#include <doctest/doctest.h>

#include <set>

#include "tests/partitions/examples.hpp"

namespace fedstride::test::shards_test {

TEST_CASE("100 clients and 200 shards of 6,000 rows: each client gets two stretches of 30 rows sorted by label") {
  // Labels ascending: a row's number is its place in the sorted order, so shard s is rows 30 s ... 30 s + 29.
  std::vector<std::uint16_t> labels;
  for (std::size_t row = 0; row < 6000; ++row) labels.push_back(static_cast<std::uint16_t>(row / 600));
  Example example(labels, 10, 100);
  const auto assignment = Shards{}.assign(example.input);
  CHECK(holds_every_row_once(assignment, example));
  for (const auto& rows : assignment) {
    REQUIRE(rows.size() == 60);
    std::set<std::uint32_t> shards;
    for (const std::uint32_t row : rows) shards.insert(row / 30);
    CHECK(shards.size() == 2);
    CHECK(classes_of(rows, example).size() <= 2);
  }
}

TEST_CASE("shards are dealt at random: two seeds pair different ones") {
  std::vector<std::uint16_t> labels = round_robin_labels(600, 10);
  Example first(labels, 10, 10, 1);
  Example second(labels, 10, 10, 2);
  CHECK(Shards{}.assign(first.input) != Shards{}.assign(second.input));
}

TEST_CASE("rows that cannot be cut evenly make shards whose sizes differ by one") {
  Example example(random_labels(107, 4, 1), 4, 10);
  for (const auto& rows : Shards({.shards_per_client = 1}).assign(example.input)) CHECK((rows.size() == 10 || rows.size() == 11));
}

}  // namespace fedstride::test::shards_test
