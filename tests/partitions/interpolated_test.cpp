#include "partitions/interpolated.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "partitions/iid.hpp"
#include "partitions/pathological.hpp"
#include "tests/partitions/examples.hpp"

namespace fedstride::test::interpolated_test {
namespace {

constexpr std::array<int, 10> kPaperOrder = {1, 9, 0, 8, 3, 5, 2, 6, 4, 7};

}  // namespace

TEST_CASE("a random fraction of 0 is the pathological partition, row for row") {
  Example example(random_labels(1003, 10, 2), 10, 7, 5);
  example.input.class_order = kPaperOrder;
  for (const int classes : {0, 2, 3})
    CHECK(Interpolated({.random_fraction = 0, .classes_per_client = {.value = classes}}).assign(example.input) ==
          Pathological({.classes_per_client = {.value = classes}}).assign(example.input));
}

TEST_CASE("a random fraction of 1 is the IID partition, row for row") {
  Example example(random_labels(1003, 10, 2), 10, 7, 5);
  CHECK(Interpolated({.random_fraction = 1}).assign(example.input) == Iid{}.assign(example.input));
}

TEST_CASE("client sizes are equal at every fraction, as in the paper") {
  Example example(round_robin_labels(5000, 10), 10, 5);
  for (const double fraction : {0.0, 0.0002, 0.01, 0.33, 0.5, 0.9, 0.9999, 1.0})
    for (const auto& rows : Interpolated({.random_fraction = fraction}).assign(example.input)) CHECK(rows.size() == 1000);
}

TEST_CASE("a client of five holds r/5 + 1 - r of each of its own classes and r/5 of each other") {
  Example example(round_robin_labels(50000, 10), 10, 5);
  const auto assignment = Interpolated({.random_fraction = 0.33}).assign(example.input);
  for (std::size_t client = 0; client < 5; ++client) {
    const auto counts = class_counts(assignment[client], example);
    for (std::size_t label = 0; label < 10; ++label) {
      // 1650 +- 33 of the 5000 rows of a class are pooled, a fifth of them +- 16 come here.
      const double expected = 5000 * (0.33 / 5 + (label / 2 == client ? 0.67 : 0));
      CHECK(std::abs(static_cast<double>(counts[label]) - expected) < 5 * 33);
    }
  }
}

TEST_CASE("unequal pathological sizes are levelled as far as the pool goes, the smallest first") {
  // Two classes of 90 and 10 rows, two clients: 90 and 10. With r = 0.2 the pool has 20 rows, mostly of class 0.
  std::vector<std::uint16_t> labels(100, 0);
  for (std::size_t row = 90; row < 100; ++row) labels[row] = 1;
  Example example(labels, 2, 2);
  const auto assignment = Interpolated({.random_fraction = 0.2, .classes_per_client = {.value = 0}}).assign(example.input);
  const auto counts = class_counts(assignment[0], example);
  CHECK(counts[1] == 0);                   // all of the pool goes to the smaller client
  CHECK(assignment[0].size() >= 90 - 20);  // the larger one lost the pooled rows
  CHECK(assignment[0].size() <= 80);       // at most ten of the pool can be of class 1
  CHECK(assignment[0].size() + assignment[1].size() == 100);
  // With r = 0.95 there is enough to make both equal.
  for (const auto& rows : Interpolated({.random_fraction = 0.95, .classes_per_client = {.value = 0}}).assign(example.input))
    CHECK(rows.size() == 50);
}

}  // namespace fedstride::test::interpolated_test
