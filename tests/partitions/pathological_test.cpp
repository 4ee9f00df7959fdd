#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

#include "partitions/pathological.hpp"
#include "tests/partitions/examples.hpp"

namespace fedstride::test::pathological_test {
namespace {

// CIFAR-10: 0 plane, 1 car, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse, 8 ship, 9 truck.
constexpr std::array<int, 10> kPaperOrder = {1, 9, 0, 8, 3, 5, 2, 6, 4, 7};

}  // namespace

TEST_CASE("five clients get the paper's pairs: car truck, plane ship, cat dog, bird frog, deer horse") {
  Example example(random_labels(5000, 10, 3), 10, 5);
  example.input.class_order = kPaperOrder;
  const auto assignment = Pathological{}.assign(example.input);
  CHECK(classes_of(assignment[0], example) == std::set<int>{1, 9});
  CHECK(classes_of(assignment[1], example) == std::set<int>{0, 8});
  CHECK(classes_of(assignment[2], example) == std::set<int>{3, 5});
  CHECK(classes_of(assignment[3], example) == std::set<int>{2, 6});
  CHECK(classes_of(assignment[4], example) == std::set<int>{4, 7});
  CHECK(holds_every_row_once(assignment, example));
}

TEST_CASE("with 100 clients of two classes each, every class has twenty holders with equal shares") {
  Example example(round_robin_labels(50000, 10), 10, 100);
  const auto assignment = Pathological({.classes_per_client = {.value = 2}}).assign(example.input);
  std::array<int, 10> holders{};
  for (const auto& rows : assignment) {
    CHECK(rows.size() == 500);
    const auto counts = class_counts(rows, example);
    CHECK(std::count(counts.begin(), counts.end(), 250) == 2);
    for (std::size_t label = 0; label < 10; ++label) holders[label] += counts[label] > 0 ? 1 : 0;
  }
  for (const int count : holders) CHECK(count == 20);
}

TEST_CASE("three clients of ten classes hold four places each, and the first two classes are shared") {
  Example example(round_robin_labels(1000, 10), 10, 3);
  const auto assignment = Pathological{}.assign(example.input);
  CHECK(class_counts(assignment[0], example) == std::vector<std::size_t>{50, 50, 100, 100, 0, 0, 0, 0, 0, 0});
  CHECK(class_counts(assignment[1], example) == std::vector<std::size_t>{0, 0, 0, 0, 100, 100, 100, 100, 0, 0});
  CHECK(class_counts(assignment[2], example) == std::vector<std::size_t>{50, 50, 0, 0, 0, 0, 0, 0, 100, 100});
}

TEST_CASE("ten clients of ten classes hold two classes each, as in the papers, and one each if asked for the fewest") {
  Example example(random_labels(2000, 10, 4), 10, 10);
  const auto assignment = Pathological{}.assign(example.input);
  const auto fewest = Pathological({.classes_per_client = {.value = 0}}).assign(example.input);
  for (int client = 0; client < 10; ++client) {
    const int first = 2 * client % 10;
    CHECK(classes_of(assignment[static_cast<std::size_t>(client)], example) == std::set<int>{first, first + 1});
    CHECK(classes_of(fewest[static_cast<std::size_t>(client)], example) == std::set<int>{client});
  }
}

TEST_CASE("with fewer places than classes, the last classes are in no client") {
  Example example(round_robin_labels(1000, 10), 10, 7);
  const auto assignment = Pathological({.classes_per_client = {.value = 1}}).assign(example.input);
  for (int client = 0; client < 7; ++client)
    CHECK(class_counts(assignment[static_cast<std::size_t>(client)], example)[static_cast<std::size_t>(client)] == 100);
  CHECK(assignment.row_count() == 700);
  CHECK(unevenly_held(7, 1, 10) ==
        "7 places for 10 classes: 7 classes are held by 1 client, the others by none, so that their rows are in no client");
  CHECK(unevenly_held(7, 2, 10) == "14 places for 10 classes: 4 classes are held by 2 clients, the others by 1");
  CHECK(unevenly_held(5, 2, 10).empty());
}

}  // namespace fedstride::test::pathological_test
