#include "data/property.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

namespace fedstride::test::property_test {
namespace {

Dataset pictures() {
  Dataset data;
  data.name = "squares";
  data.shape = {1, 2, 2};
  data.labels = {0, 1, 0};
  data.pixels = {0, 0, 0, 0, 255, 255, 255, 255, 1, 2, 3, 4};
  return data;
}

Dataset table() {
  Dataset data;
  data.name = "numbers";
  data.shape = {1, 1, 3};
  data.labels = {0, 1};
  data.features = {1, 2, 6, -1, 0, 4};
  return data;
}

}  // namespace

TEST_CASE("the mean is a picture's brightness, and of a table any column can be a property") {
  CHECK(property_of_rows(pictures(), "mean") == std::vector<float>{0, 255, 2.5F});
  CHECK(property_of_rows(table(), "mean") == std::vector<float>{3, 1});
  CHECK(property_of_rows(table(), "2") == std::vector<float>{6, 4});
}

TEST_CASE("properties that do not exist are refused with those that do") {
  const std::string numbers = "; for data set 'numbers' valid is mean, or the number of a column from 0 to 2";
  for (const std::string wrong : {"3", "-1", "1.0", "", "brightness"})
    CHECK_THROWS_WITH_AS(property_of_rows(table(), wrong), ("property is '" + wrong + "'" + numbers).c_str(), Error);
  CHECK_THROWS_WITH_AS(property_of_rows(pictures(), "0"),
                       "property is '0'; for data set 'squares' valid is mean, a picture's brightness", Error);
}

}  // namespace fedstride::test::property_test
