#include "data/property.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "tests/support/refusal.hpp"

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
  for (const std::string wrong : {"3", "-1", "1.0", "", "brightness"})
    CHECK_USAGE_ERROR(property_of_rows(table(), wrong), "property", "'" + wrong + "'", "'numbers'", "mean", "0 to 2");
  CHECK_USAGE_ERROR(property_of_rows(pictures(), "0"), "property", "'0'", "'squares'", "mean");
}

}  // namespace fedstride::test::property_test
