#include "partitions/outside_rows.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::outside_rows_test {
namespace {

std::vector<std::uint64_t> counts(const std::string& text, std::size_t clients) {
  OutsideRows part;
  part.client_examples = text;
  return part.counts(clients);
}

}  // namespace

TEST_CASE("clients have the numbers of a list, or all the same") {
  CHECK(counts("100, 200,50", 3) == std::vector<std::uint64_t>{100, 200, 50});
  CHECK(counts("7", 3) == std::vector<std::uint64_t>{7, 7, 7});
  CHECK(counts("1000000000", 1) == std::vector<std::uint64_t>{1000000000});
  CHECK(OutsideRows().counts(2) == std::vector<std::uint64_t>{1, 1});
}

TEST_CASE("other lists are refused, and so is dealing out") {
  CHECK_USAGE_ERROR(counts("1,2", 3), "client-examples", "2", "3");
  for (const char* bad : {"", "1,,2", "0", "-1", "1.5", "x", "1000000001", "99999999999999999999"})
    CHECK_USAGE_ERROR(counts(bad, 3), "client-examples", "1 to 1000000000");
  CHECK_USAGE_ERROR(OutsideRows().assign({}), "partition");
}

}  // namespace fedstride::test::outside_rows_test
