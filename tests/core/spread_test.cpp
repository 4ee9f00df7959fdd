#include "core/spread.hpp"

#include <doctest/doctest.h>

namespace fedstride::test::spread_test {

// Sorted 1, 2, 3, 4, 10: mean 4, squared distances 9 + 4 + 1 + 0 + 36 = 50; places 0.4, 2 and 3.6 of 0 to 4.
TEST_CASE("the spread of five numbers by hand") {
  const Spread spread = spread_of({10, 2, 1, 4, 3});
  CHECK(spread.mean == doctest::Approx(4));
  CHECK(spread.deviation == doctest::Approx(std::sqrt(10.0)));
  CHECK(spread.tenth == doctest::Approx(1.4));
  CHECK(spread.median == doctest::Approx(3));
  CHECK(spread.ninetieth == doctest::Approx(4 + 0.6 * 6));
  CHECK(spread.worst_tenth == doctest::Approx(1));
}

TEST_CASE("of one number, of none, and of more than ten") {
  CHECK(spread_of({7}).tenth == 7);
  CHECK(spread_of({7}).deviation == 0);
  const Spread none = spread_of({});
  for (const double number : {none.mean, none.deviation, none.tenth, none.median, none.ninetieth, none.worst_tenth})
    CHECK(number == 0);
  std::vector<double> numbers;
  for (int i = 0; i < 21; ++i) numbers.push_back(i);
  CHECK(spread_of(numbers).worst_tenth == doctest::Approx(1));  // 0, 1 and 2: a tenth rounded up
  CHECK(spread_of(numbers).median == 10);
}

}  // namespace fedstride::test::spread_test
