#include "partitions/client_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace fedstride::test::client_rows_test {
namespace {

Assignment lists_of(const ClientRows& all) {
  Assignment lists;
  for (const auto rows : all) lists.emplace_back(rows.begin(), rows.end());
  return lists;
}

}  // namespace

TEST_CASE("the lists of an assignment are kept, empty ones too") {
  const Assignment lists{{2, 5}, {}, {0}, {}};
  const ClientRows all = lists;
  CHECK(all.size() == 4);
  CHECK(all.row_count() == 3);
  CHECK(lists_of(all) == lists);
  CHECK(all[0].back() == 5);
  CHECK(all[3].empty());
  CHECK(ClientRows().empty());
  CHECK(all != ClientRows(Assignment{{2, 5}, {0}, {}, {}}));  // the same rows, of others
}

TEST_CASE("rows are cut into lists of given sizes, which are sorted") {
  const std::vector<std::size_t> sizes{2, 0, 3};
  CHECK(lists_of({{9, 1, 8, 3, 2}, sizes}) == Assignment{{1, 9}, {}, {2, 3, 8}});
  CHECK_THROWS_AS(ClientRows({9, 1, 8}, sizes), std::invalid_argument);
  CHECK_THROWS_AS(ClientRows({9, 1, 8, 3, 2, 4}, sizes), std::invalid_argument);
}

TEST_CASE("even lists differ by one row at most, the larger ones first") {
  CHECK(lists_of(ClientRows::even({6, 5, 4, 3, 2, 1, 0}, 3)) == Assignment{{4, 5, 6}, {2, 3}, {0, 1}});
  CHECK(lists_of(ClientRows::even({1, 0}, 2)) == Assignment{{1}, {0}});
}

TEST_CASE("one client may hold all rows, in an order of its own") {
  CHECK(lists_of(ClientRows::only(1, 3, {7, 2})) == Assignment{{}, {7, 2}, {}});
  CHECK(lists_of(ClientRows::only(0, 1, {})) == Assignment{{}});
}

TEST_CASE("a million clients of a row each take 8 bytes each, and are dealt at once") {
  std::vector<std::uint32_t> rows(1'000'000);
  std::iota(rows.begin(), rows.end(), 0U);
  const ClientRows all = ClientRows::even(std::move(rows), 1'000'000);
  CHECK(all.size() == 1'000'000);
  CHECK(all[0][0] == 0);
  CHECK(all[999'999].size() == 1);
  CHECK(all[999'999][0] == 999'999);
  CHECK(std::ranges::all_of(all, [](const auto& list) { return list.size() == 1; }));
}

}  // namespace fedstride::test::client_rows_test
