#include "partitions/label_quantity.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "tests/partitions/examples.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::label_quantity_test {

TEST_CASE("ten clients of two classes each hold their own class and another; a class's holders have equal shares") {
  Example example(round_robin_labels(5000, 10), 10, 10);
  const auto assignment = LabelQuantity({.classes_per_client = {.value = 2}}).assign(example.input);
  CHECK(holds_every_row_once(assignment, example));
  std::vector<std::set<std::size_t>> shares(10);
  std::vector<std::size_t> holders(10);
  for (std::size_t client = 0; client < 10; ++client) {
    const auto counts = class_counts(assignment[client], example);
    CHECK(counts[client] > 0);
    CHECK(classes_of(assignment[client], example).size() == 2);
    for (std::size_t label = 0; label < 10; ++label) {
      if (counts[label] == 0) continue;
      shares[label].insert(counts[label]);
      ++holders[label];
    }
  }
  for (std::size_t label = 0; label < 10; ++label) {
    CAPTURE(label);
    CHECK(*shares[label].begin() == 500 / holders[label]);
    CHECK(*shares[label].rbegin() - *shares[label].begin() <= 1);
  }
  CHECK(std::ranges::max(holders) > std::ranges::min(holders));
}

TEST_CASE(
    "the other class is drawn evenly: of 900 clients with one own class 100 for each of the nine others, within 4.5 deviations") {
  Example example(round_robin_labels(18000, 10), 10, 9000);
  const auto assignment = LabelQuantity({.classes_per_client = {.value = 2}}).assign(example.input);
  std::vector<int> pairs(100);
  for (std::size_t client = 0; client < 9000; ++client)
    for (const int label : classes_of(assignment[client], example)) ++pairs[client % 10 * 10 + static_cast<std::size_t>(label)];
  // A binomial of 900 clients and 1/9 has mean 100 and deviation 9.4.
  for (std::size_t own = 0; own < 10; ++own)
    for (std::size_t other = 0; other < 10; ++other) {
      if (other != own) CHECK(std::abs(pairs[own * 10 + other] - 100) < 43);
    }
}

TEST_CASE("three clients of ten classes cover all; four places each leave two to be drawn") {
  Example example(round_robin_labels(1000, 10), 10, 3);
  const auto assignment = LabelQuantity{}.assign(example.input);
  CHECK(holds_every_row_once(assignment, example));
  for (int client = 0; client < 3; ++client) {
    const auto held = classes_of(assignment[static_cast<std::size_t>(client)], example);
    CHECK(held.size() == 4);
    for (int own = client; own < 10; own += 3) CHECK(held.contains(own));
  }
}

TEST_CASE("classes that do not exist are refused; with fewer places than classes, some have no holder") {
  Example example(round_robin_labels(100, 10), 10, 3);
  CHECK_USAGE_ERROR(LabelQuantity({.classes_per_client = {.value = 11}}).assign(example.input), "classes-per-client", "11",
                    "10 classes", "up to 10");
  std::set<int> held;
  for (const auto& rows : LabelQuantity({.classes_per_client = {.value = 2}}).assign(example.input)) {
    CHECK(classes_of(rows, example).size() == 2);
    held.merge(classes_of(rows, example));
  }
  CHECK(held.size() < 10);
}

}  // namespace fedstride::test::label_quantity_test
