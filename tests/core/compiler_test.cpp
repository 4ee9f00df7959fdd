#include <doctest/doctest.h>

#include <vector>

namespace fedstride::test::compiler_test {
namespace {
[[gnu::noinline]] std::vector<double> three_and_zero() { return {3, 3, 3, 0}; }
[[gnu::noinline]] std::vector<float> six_and_two() { return {3, 3, 3, 3, 3, 3, 0, 0}; }
}  // namespace

TEST_CASE("the compiler writes constants as they stand (GCC 12 with AVX-512 did not; tools/cmake/Options.cmake)") {
  CHECK(three_and_zero()[3] == 0);
  CHECK(six_and_two()[6] == 0);
  CHECK(six_and_two()[7] == 0);
}

}  // namespace fedstride::test::compiler_test
