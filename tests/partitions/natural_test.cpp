#include "partitions/natural.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "partitions/from_file.hpp"
#include "partitions/manifest.hpp"
#include "partitions/natural_grouped.hpp"
#include "tests/kits/conformance.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::natural_test {
namespace {

/// Ten rows of natural clients 3, 1, 3, 0, ...; nobody has the number 2.
struct Rows {
  std::vector<std::uint16_t> labels = std::vector<std::uint16_t>(10, 0);
  std::vector<std::uint32_t> rows = std::vector<std::uint32_t>(10);
  std::vector<std::uint32_t> natural{3, 1, 3, 0, 3, 1, 4, 3, 0, 3};
  Rows() { std::iota(rows.begin(), rows.end(), 0U); }
  PartitionInput input(int clients) const {
    return {.labels = labels,
            .rows = rows,
            .classes = 1,
            .class_order = {},
            .clients = clients,
            .seed = 5,
            .client_of_row = natural,
            .natural_clients = 5};
  }
};

std::vector<std::uint32_t> list(std::span<const std::uint32_t> rows) { return {rows.begin(), rows.end()}; }

}  // namespace

TEST_CASE("natural: each client has the rows of its name, in the order of the names; a name without a row is no client") {
  Rows rows;
  const ClientRows dealt = Natural().assign(rows.input(4));
  CHECK(list(dealt[0]) == std::vector<std::uint32_t>{3, 8});
  CHECK(list(dealt[1]) == std::vector<std::uint32_t>{1, 5});
  CHECK(list(dealt[2]) == std::vector<std::uint32_t>{0, 2, 4, 7, 9});
  CHECK(list(dealt[3]) == std::vector<std::uint32_t>{6});
  rows.rows = {1, 2, 5};
  CHECK(Natural().assign(rows.input(2)).row_count() == 3);
}

TEST_CASE("natural: another number of clients, and data that name none, are refused") {
  Rows rows;
  CHECK_USAGE_ERROR(Natural().assign(rows.input(5)), "clients", "5", "4");
  PartitionInput none = rows.input(4);
  none.client_of_row = {};
  CHECK_USAGE_ERROR(Natural().assign(none), "clients", "docs/data.md");
}

TEST_CASE("natural-grouped: groups of so many whole natural clients, drawn by the seed") {
  Rows rows;
  const NaturalGrouped pairs({.natural_per_client = 2});
  const ClientRows dealt = pairs.assign(rows.input(2));
  CHECK(dealt.row_count() == 10);
  for (const auto& client : dealt) {
    std::set<std::uint32_t> names;
    for (const std::uint32_t row : client) names.insert(rows.natural[row]);
    CHECK(names.size() == 2);
    for (std::uint32_t row = 0; row < 10; ++row)
      CHECK(names.contains(rows.natural[row]) == (std::ranges::find(client, row) != client.end()));
  }
  std::set<std::vector<std::uint32_t>> firsts;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    PartitionInput input = rows.input(2);
    input.seed = seed;
    firsts.insert(list(pairs.assign(input)[0]));
  }
  CHECK(firsts.size() == 6);  // every pair of four comes first
  CHECK_USAGE_ERROR(pairs.assign(rows.input(3)), "clients", "3", "4", "2");
}

TEST_CASE("both keep a partition's promises") {
  CHECK(complaints(Partitioner(Natural())).empty());
  CHECK(complaints(Partitioner(NaturalGrouped({.natural_per_client = 1}))).empty());
}

TEST_CASE("a manifest has the rows' numbers in their file, and reads back; test rows in it are left out") {
  Rows rows;
  const TemporaryFolder folder;
  const std::vector<std::uint32_t> in_file{0, 2, 3, 5, 6, 7, 8, 10, 11, 12};  // 1, 4 and 9 were held out
  PartitionInput input = rows.input(4);
  input.file_rows = in_file;
  const ClientRows dealt = Natural().assign(input);
  write_manifest(folder / "p.json", Partitioner(Natural()), 1, dealt, rows.labels, 1, kMaxListed, 0, in_file);
  CHECK(FromFile({folder / "p.json"}).assign(input) == dealt);
  write_manifest(folder / "q.json", Partitioner(Natural()), 1, dealt, rows.labels, 1, 2, 0, in_file);  // arrays beside it
  CHECK(FromFile({folder / "q.json"}).assign(input) == dealt);
  const auto read = [&](const std::string& text) {
    write_file(folder / "r.json", text);
    return FromFile({folder / "r.json"}).assign(input);
  };
  input.clients = 2;
  const ClientRows all = read("{\"clients\": [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11, 12]]}");
  CHECK(list(all[0]) == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(list(all[1]) == std::vector<std::uint32_t>{4, 5, 6, 7, 8, 9});
  CHECK_FAILURE(read("{\"clients\": [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11, 13]]}"), "row 13", "0 to 12");
  CHECK_FAILURE(read("{\"clients\": [[1, 4], [0, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12]]}"), "client 0");
  CHECK_FAILURE(read("{\"clients\": [[0, 2, 3, 5], [6, 7, 8, 10, 11, 0]]}"), "row 0");
  CHECK_FAILURE(read("{\"clients\": [[0, 2, 3, 5], [6, 7, 8, 10, 11]]}"), "1", "row 12");
}

}  // namespace fedstride::test::natural_test
