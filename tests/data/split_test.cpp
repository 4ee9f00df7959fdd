#include "data/split.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "tests/data/files.hpp"

namespace fedstride::test::split_test {

TEST_CASE("a validation split holds every row once, both parts ascending, of the size asked for") {
  const auto [train, validation] = split_validation(1000, 0.1, 7);
  CHECK(train.size() == 900);
  CHECK(validation.size() == 100);
  CHECK(std::is_sorted(train.begin(), train.end()));
  CHECK(std::is_sorted(validation.begin(), validation.end()));
  std::vector<Row> all(train);
  all.insert(all.end(), validation.begin(), validation.end());
  std::sort(all.begin(), all.end());
  for (Row row = 0; row < 1000; ++row) REQUIRE(all[row] == row);
}

TEST_CASE("the validation rows follow the seed and are spread over the set") {
  const auto first = split_validation(1000, 0.1, 1).second;
  CHECK(first == split_validation(1000, 0.1, 1).second);
  CHECK(first != split_validation(1000, 0.1, 2).second);
  CHECK(first.front() < 100);
  CHECK(first.back() >= 900);
}

TEST_CASE("a fraction of 0 takes nothing; 1, negative, NaN and one that leaves no training row are refused") {
  CHECK(split_validation(10, 0, 1).second.empty());
  CHECK(split_validation(10, 0, 1).first.size() == 10);
  CHECK(contains(error_of([] { split_validation(10, 1, 1); }), "validation-fraction is 1"));
  CHECK(contains(error_of([] { split_validation(10, -0.1, 1); }), "validation-fraction is -0.1"));
  CHECK(contains(error_of([] { split_validation(10, std::numeric_limits<double>::quiet_NaN(), 1); }), "validation-fraction is"));
  CHECK(contains(error_of([] { split_validation(10, 0.99, 1); }), "leaves none of 10 rows"));
}

}  // namespace fedstride::test::split_test
