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

TEST_CASE("evaluation rows are as many different ones as asked for, of the seed alone, spread over the test part") {
  const auto rows = draw_evaluation_rows(1000, 100, 1);
  CHECK(rows.size() == 100);
  CHECK(std::ranges::is_sorted(rows));
  CHECK(std::ranges::adjacent_find(rows) == rows.end());
  CHECK(rows.front() < 100);
  CHECK(rows.back() >= 900);
  CHECK(rows.back() < 1000);
  CHECK(rows == draw_evaluation_rows(1000, 100, 1));
  CHECK(rows != draw_evaluation_rows(1000, 100, 2));
  CHECK(rows != split_validation(1000, 0.1, 1).second);
  CHECK(draw_evaluation_rows(5, 5, 1) == std::vector<Row>{0, 1, 2, 3, 4});
  CHECK(contains(error_of([] { draw_evaluation_rows(1, 2, 1); }), "evaluate-rows is 2; the test part has 1 row, at most"));
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
