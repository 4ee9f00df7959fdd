// What every part of the registry must do; a new part is tested by being listed there.
#include "partitions/partitions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/files.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test {
namespace {

// Every part that deals rows out (own deals none), with its defaults; `file` gets a file in which row i of the input belongs to client i modulo clients.
template <class Visitor>
void for_each_partitioner(const Example& example, const TemporaryFolder& folder, Visitor&& visit) {
  for_each_part<Partitioner>([&]<class Part>(Part part) {
    if constexpr (std::is_same_v<Part, OwnRows>) return;
    if constexpr (requires { part.partition_file; }) {
      if (example.input.clients < 1 || example.input.rows.empty()) return;
      std::vector<std::string> lists(static_cast<std::size_t>(example.input.clients));
      for (std::size_t i = 0; i < example.input.rows.size(); ++i) {
        auto& list = lists[i % lists.size()];
        list += (list.empty() ? "" : ",") + std::to_string(example.input.rows[i]);
      }
      const auto path = folder.path() / "partition.json";
      write_file(path, "{\"clients\": [[" + joined(lists, "],[") + "]]}");
      part.partition_file = path.string();
    }
    if constexpr (requires { part.shards_per_client; }) part.shards_per_client = 1;
    CAPTURE(Part::kName);
    visit(part);
  });
}

bool all_ascend(const Assignment& assignment) {
  return std::all_of(assignment.begin(), assignment.end(), [](const auto& rows) {
    return std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
  });
}

}  // namespace

TEST_CASE("every partition holds every row once, no client empty, over random sizes") {
  const TemporaryFolder folder;
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
    for_each_partitioner(example, folder, [&](const auto& part) {
      const Assignment assignment = part.assign(example.input);
      CHECK(assignment.size() == clients);
      CHECK(holds_every_row_once(assignment, example));
      CHECK(all_ascend(assignment));
      CHECK(std::none_of(assignment.begin(), assignment.end(), [](const auto& rows) { return rows.empty(); }));
    });
  }
}

TEST_CASE("every partition deals out the rows it was given and no others, as a validation split leaves them") {
  const TemporaryFolder folder;
  Example example(random_labels(500, 10, 1), 10, 7);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < 500; ++row)
    if (row % 5 != 2 && example.labels[row] != 4) rows.push_back(row);  // and no row of class 4 is left
  example.input.rows = rows;
  for_each_partitioner(example, folder,
                       [&](const auto& part) { CHECK(holds_every_row_once(part.assign(example.input), example)); });
}

TEST_CASE("every partition copes with one client, one class only, and as many clients as rows") {
  const TemporaryFolder folder;
  Example one_client(random_labels(50, 3, 1), 3, 1);
  for_each_partitioner(one_client, folder,
                       [&](const auto& part) { CHECK(part.assign(one_client.input)[0] == one_client.rows); });
  Example one_class(std::vector<std::uint16_t>(60, 2), 10, 6);
  for_each_partitioner(one_class, folder,
                       [&](const auto& part) { CHECK(holds_every_row_once(part.assign(one_class.input), one_class)); });
  Example one_row_each(random_labels(30, 4, 2), 4, 30);
  for_each_partitioner(one_row_each, folder, [&](const auto& part) {
    for (const auto& rows : part.assign(one_row_each.input)) CHECK(rows.size() == 1);
  });
}

TEST_CASE("every partition is the same for the same seed, and all that draw differ for another") {
  const TemporaryFolder folder;
  Example example(random_labels(600, 10, 5), 10, 6, 11);
  Example other(example.labels, 10, 6, 12);
  for_each_partitioner(example, folder, [&]<class Part>(const Part& part) {
    CHECK(part.assign(example.input) == part.assign(example.input));
    Partitioner partitioner = part;
    // The pathological split has one holder a class here if nothing is said, so nothing to draw.
    if (auto* pathological = std::get_if<Pathological>(&partitioner)) pathological->classes_per_client = 4;
    if (!std::is_same_v<Part, FromFile>) CHECK(assign(partitioner, example.input) != assign(partitioner, other.input));
  });
}

TEST_CASE("every partition refuses no clients, and more clients than rows") {
  const TemporaryFolder folder;
  for (const int clients : {-1, 0, 21}) {
    Example example(random_labels(20, 3, 1), 3, clients);
    for_each_partitioner(example, folder, [&](const auto& part) {
      const std::string expected = "clients is " + std::to_string(clients) +
                                   "; it must be a whole number from 1 to 20, the number of training rows";
      CHECK_THROWS_WITH_AS(part.assign(example.input), expected.c_str(), Error);
    });
  }
}

TEST_CASE("labels, rows and class orders that do not fit are refused") {
  Example label(std::vector<std::uint16_t>{0, 1, 5}, 3, 1);
  CHECK_THROWS_WITH(Iid{}.assign(label.input), "row 2 has label 5; it must be below 3, the number of classes");
  Example row(std::vector<std::uint16_t>{0, 1, 2}, 3, 1);
  row.rows = {0, 1, 3};
  CHECK_THROWS_WITH(Iid{}.assign(row.input), "row 3 does not exist; the data set has 3 rows");
  row.rows = {0, 1, 1};
  CHECK_THROWS_WITH(Iid{}.assign(row.input), "row 1 is there twice; each row can be dealt out once");
  Example order(std::vector<std::uint16_t>{0, 1, 2}, 3, 1);
  const std::vector<std::vector<int>> wrong_orders = {{0, 1}, {0, 1, 1}, {0, 1, 3}, {-1, 0, 1}};
  for (const auto& wrong : wrong_orders) {
    order.input.class_order = wrong;
    CHECK_THROWS_WITH(Iid{}.assign(order.input),
                      "the class order is not valid; it must name each of the 3 classes once");
  }
}

TEST_CASE("settings outside their range are refused, named") {
  Example example(random_labels(100, 5, 1), 5, 4);
  CHECK_THROWS_WITH(assign(Dirichlet{.alpha = 0}, example.input), "alpha is 0; it must be a number above 0");
  CHECK_THROWS_WITH(assign(DirichletBalanced{.alpha = std::nan("")}, example.input),
                    "alpha is nan; it must be a number above 0");
  CHECK_THROWS_WITH(assign(Interpolated{.random_fraction = 1.5}, example.input),
                    "random-fraction is 1.5; it must be a number from 0 to 1");
  CHECK_THROWS_WITH(assign(Shards{.shards_per_client = 0}, example.input),
                    "shards-per-client is 0; it must be a whole number from 1");
  CHECK_THROWS_WITH(assign(Shards{.shards_per_client = 26}, example.input),
                    "shards-per-client is 26; with 100 rows and 4 clients it must be a whole number from 1 to 25");
  CHECK_THROWS_WITH(assign(Pathological{.classes_per_client = 1}, example.input),
                    "classes-per-client is 1; with 4 clients and rows of 5 classes it must be a whole number from 2 "
                    "to 5, or 0 for the least");
  CHECK_THROWS_WITH(assign(Pathological{.classes_per_client = 6}, example.input),
                    "classes-per-client is 6; with 4 clients and rows of 5 classes it must be a whole number from 2 "
                    "to 5, or 0 for the least");
}

TEST_CASE("the pathological partition is the default") { CHECK(part_name(Partitioner{}) == "pathological"); }

}  // namespace fedstride::test
