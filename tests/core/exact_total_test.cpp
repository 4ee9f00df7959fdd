#include "core/exact_sum.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/random.hpp"

namespace fedstride::test::exact_total_test {
namespace {

double total(const std::vector<double>& values) {
  ExactTotal sum;
  for (const double value : values) sum.add(value);
  return sum.value();
}

}  // namespace

TEST_CASE("a total is the double nearest to the sum, and a tie is one only if nothing is left over") {
  CHECK(total({}) == 0);
  CHECK(total({0, 0}) == 0);
  for (const double value :
       {1.0, 0.1, 3e-300, 1e300, std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()})
    CHECK(total({value}) == value);
  CHECK(total({0.1, 0.2, 0.3}) == 0.6);  // (0.1 + 0.2) + 0.3 is 0.6000000000000001
  const double half = 0x1p-53;           // of the last digit of 1
  CHECK(total({1, half}) == 1);          // ties to even
  CHECK(total({1, half, 0x1p-200}) == 1 + 2 * half);
  CHECK(total({1 + 2 * half, half}) == 1 + 4 * half);
  CHECK(total({1e300, 1e-300}) == 1e300);
  CHECK(total({std::numeric_limits<double>::max(), std::numeric_limits<double>::max()}) ==
        std::numeric_limits<double>::infinity());
  CHECK(total(std::vector<double>(1000, std::nextafter(1.0, 0.0))) == 1000 * std::nextafter(1.0, 0.0));  // carries
}

TEST_CASE("no order of the numbers changes a bit, and 53 digits of whole numbers are all kept") {
  RandomStream random(1, {.purpose = Purpose::test});
  std::vector<double> values(500);
  for (double& value : values) value = std::ldexp(1.0 + random.uniform_float(), static_cast<int>(random.below(300)) - 150);
  const double first = total(values);
  CHECK(first == doctest::Approx(std::accumulate(values.begin(), values.end(), 0.0)).epsilon(1e-13));
  int others = 0;
  for (int i = 0; i < 20; ++i) {
    for (std::size_t k = values.size(); k > 1; --k) std::swap(values[k - 1], values[random.below(k)]);
    CHECK(total(values) == first);
    others += std::accumulate(values.begin(), values.end(), 0.0) != first ? 1 : 0;
  }
  CHECK(others > 0);  // added one by one in doubles their order does change it
  std::vector<double> whole(200);
  std::uint64_t expected = 0;
  for (double& value : whole) {
    const std::uint64_t number = random.below(std::uint64_t{1} << 45);
    expected += number;
    value = std::ldexp(static_cast<double>(number), -80);
  }
  CHECK(total(whole) == std::ldexp(static_cast<double>(expected), -80));
}

}  // namespace fedstride::test::exact_total_test
