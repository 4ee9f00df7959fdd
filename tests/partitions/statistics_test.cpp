#include "partitions/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/text.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::statistics_test {
namespace {

// Rows 0 to 7 of class 0, 8 to 11 of class 1, 12 to 15 of class 2.
std::vector<std::uint16_t> sixteen_labels() {
  std::vector<std::uint16_t> labels(16, 0);
  for (std::size_t row = 8; row < 16; ++row) labels[row] = row < 12 ? 1 : 2;
  return labels;
}

}  // namespace

TEST_CASE("three clients of 2, 4 and 10 rows, by hand") {
  // p = (1/2, 1/4, 1/4). Client 0: (1, 0, 0). Client 1: (0, 1/2, 1/2). Client 2: (6, 2, 2) / 10.
  const Assignment assignment{{0, 1}, {8, 9, 12, 13}, {2, 3, 4, 5, 6, 7, 10, 11, 14, 15}};
  const PartitionStatistics found = partition_statistics(assignment, sixteen_labels(), 3);
  CHECK(found.clients == 3);
  CHECK(found.rows == 16);
  CHECK(found.least == 2);
  CHECK(found.median == 4);
  CHECK(found.most == 10);
  CHECK(found.gini == doctest::Approx(2.0 * (2 + 8 + 30) / (3 * 16) - 4.0 / 3));  // 1/3
  CHECK(found.entropy == doctest::Approx(1.5));
  const double third = -(0.6 * std::log2(0.6) + 0.4 * std::log2(0.2));
  CHECK(found.mean_entropy == doctest::Approx((0 + 1 + third) / 3));
  // Distances 1/2 + 1/4 + 1/4, 1/2 + 1/4 + 1/4 and 0.1 + 0.05 + 0.05.
  CHECK(found.largest_distance == doctest::Approx(1));
  CHECK(found.mean_distance == doctest::Approx(2.2 / 3));
}

TEST_CASE("clients alike are at no distance, and clients of a class each are far") {
  const PartitionStatistics alike =
      partition_statistics(Assignment{{0, 1, 8, 12}, {2, 3, 9, 13}, {4, 5, 10, 14}, {6, 7, 11, 15}}, sixteen_labels(), 3);
  CHECK(alike.gini == doctest::Approx(0));
  CHECK(alike.median == 4);
  CHECK(alike.mean_entropy == doctest::Approx(1.5));
  CHECK(alike.largest_distance == doctest::Approx(0));
  // Where each of k clients has a class of its own the distance is 2 (1 - 1/k).
  const PartitionStatistics apart = partition_statistics(Assignment{{8, 9, 10, 11}, {12, 13, 14, 15}}, sixteen_labels(), 3);
  CHECK(apart.mean_distance == doctest::Approx(1));
  CHECK(apart.mean_entropy == 0);
  CHECK(apart.entropy == doctest::Approx(1));
}

TEST_CASE("clients without rows count as sizes alone, and no rows at all are no error") {
  const PartitionStatistics found = partition_statistics(Assignment{{}, {0, 8}}, sixteen_labels(), 3);
  CHECK(found.least == 0);
  CHECK(found.median == 1);
  CHECK(found.gini == doctest::Approx(0.5));
  CHECK(found.mean_entropy == doctest::Approx(1));
  CHECK(partition_statistics(Assignment{{}, {}}, sixteen_labels(), 3).rows == 0);
}

TEST_CASE("the text and the JSON say the same") {
  const PartitionStatistics found =
      partition_statistics(Assignment{{0, 1}, {8, 9, 12, 13}, {2, 3, 4, 5, 6, 7, 10, 11, 14, 15}}, sixteen_labels(), 3);
  const std::string text = statistics_text(found);
  const auto lines = split(trimmed(text), '\n');
  REQUIRE(lines.size() == 3);
  CHECK(names(lines[0], {"2", "4", "10", "0.333"}));
  CHECK(names(lines[1], {"0.790", "1.500"}));
  CHECK(names(lines[2], {"0.733", "1.000"}));
  const Json json = parse_json(statistics_json(found));
  CHECK(json.at("median") == 4);
  CHECK(json.at("label_entropy_bits") == 1.5);
  CHECK(json.at("mean_earth_movers_distance").get<double>() == doctest::Approx(2.2 / 3));
}

}  // namespace fedstride::test::statistics_test
