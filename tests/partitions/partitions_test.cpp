// Every part of the registry must do this; a new part is tested by being listed there.
#include "partitions/partitions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "partitions/dirichlet.hpp"
#include "partitions/dirichlet_balanced.hpp"
#include "partitions/iid.hpp"
#include "partitions/interpolated.hpp"
#include "partitions/pathological.hpp"
#include "partitions/shards.hpp"
#include "tests/partitions/dealers.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::partitions_test {

TEST_CASE("every partition deals out inputs of any size, and refuses none that has a row for each client") {
  RandomStream random(7, {.purpose = Purpose::test, .round = 1});
  for (int trial = 0; trial < 40; ++trial) {
    const auto count = 1 + random.below(400);
    const auto classes = 1 + random.below(15);
    const auto clients = 1 + random.below(std::min<std::uint64_t>(count, 60));
    Example example(random_labels(count, classes, static_cast<std::uint64_t>(trial)), static_cast<int>(classes),
                    static_cast<int>(clients), random.bits64());
    CAPTURE(count);
    CAPTURE(classes);
    CAPTURE(clients);
    for (const Partitioner& dealer : dealers()) {
      CAPTURE(dealer.name());
      CHECK(holds_every_row_once(dealer->assign(example.input), example));
    }
  }
}

TEST_CASE("every partition copes with one client, and with as many clients as rows") {
  Example one_client(random_labels(50, 3, 1), 3, 1);
  Example one_row_each(random_labels(30, 4, 2), 4, 30);
  for (const Partitioner& dealer : dealers()) {
    CAPTURE(dealer.name());
    CHECK(std::ranges::equal(dealer->assign(one_client.input)[0], one_client.rows));
    for (const auto& rows : dealer->assign(one_row_each.input)) CHECK(rows.size() == 1);
  }
}

TEST_CASE("every partition deals 100,000 clients at once") {
  // Work that grows with clients x rows would take hours here.
  Example example(random_labels(110'000, 10, 3), 10, 100'000);
  for (const Partitioner& dealer : dealers()) {
    CAPTURE(dealer.name());
    const ClientRows assignment = dealer->assign(example.input);
    CHECK(assignment.size() == 100'000);
    CHECK(holds_every_row_once(assignment, example));
    CHECK(std::ranges::none_of(assignment, [](const auto rows) { return rows.empty(); }));
  }
}

TEST_CASE("every partition that draws differs for another seed") {
  Example example(random_labels(600, 10, 5), 10, 6, 11);
  Example other(example.labels, 10, 6, 12);
  for (Partitioner& dealer : dealers()) {
    CAPTURE(dealer.name());
    // The pathological split has one holder a class here if nothing is said, so nothing to draw.
    if (auto* pathological = dealer.as<Pathological>()) pathological->classes_per_client = {.value = 4};
    CHECK_MESSAGE((assign(dealer, example.input) == assign(dealer, other.input)) == kDrawNothing.contains(dealer.name()),
                  "partition '", dealer.name(),
                  "' gives the same lists for two seeds exactly if it is in kDrawNothing of "
                  "tests/partitions/dealers.hpp");
  }
}

TEST_CASE("every partition refuses no clients, and more clients than rows") {
  for (const int clients : {-1, 0, 21}) {
    Example example(random_labels(20, 3, 1), 3, clients);
    for (const Partitioner& dealer : dealers())
      CHECK_USAGE_ERROR(dealer->assign(example.input), "clients", std::to_string(clients), "1 to 20");
  }
}

TEST_CASE("labels, rows and class orders that do not fit are refused") {
  Example label(std::vector<std::uint16_t>{0, 1, 5}, 3, 1);
  CHECK_USAGE_ERROR(Iid{}.assign(label.input), "row 2", "5", "3");
  Example row(std::vector<std::uint16_t>{0, 1, 2}, 3, 1);
  row.rows = {0, 1, 3};
  CHECK_USAGE_ERROR(Iid{}.assign(row.input), "row 3", "3 rows");
  row.rows = {0, 1, 1};
  CHECK_USAGE_ERROR(Iid{}.assign(row.input), "row 1");
  Example order(std::vector<std::uint16_t>{0, 1, 2}, 3, 1);
  const std::vector<std::vector<int>> wrong_orders = {{0, 1}, {0, 1, 1}, {0, 1, 3}, {-1, 0, 1}};
  for (const auto& wrong : wrong_orders) {
    order.input.class_order = wrong;
    CHECK_USAGE_ERROR(Iid{}.assign(order.input), "class order", "3");
  }
}

TEST_CASE("settings outside their range are refused, named") {
  Example example(random_labels(100, 5, 1), 5, 4);
  CHECK_USAGE_ERROR(assign(Dirichlet({.alpha = 0}), example.input), "alpha", "0");
  CHECK_USAGE_ERROR(assign(DirichletBalanced({.alpha = std::nan("")}), example.input), "alpha", "nan");
  CHECK_USAGE_ERROR(assign(Interpolated({.random_fraction = 1.5}), example.input), "random-fraction", "1.5", "0 to 1");
  CHECK_USAGE_ERROR(assign(Shards({.shards_per_client = 0}), example.input), "shards-per-client", "0", "1");
  CHECK_USAGE_ERROR(assign(Shards({.shards_per_client = 26}), example.input), "shards-per-client", "26", "100", "4", "1 to 25");
  CHECK_USAGE_ERROR(assign(Pathological({.classes_per_client = {.value = 6}}), example.input), "classes-per-client", "6",
                    "5 classes");
}

TEST_CASE("the pathological partition is the default") { CHECK(Partitioner{}.name() == "pathological"); }

}  // namespace fedstride::test::partitions_test
