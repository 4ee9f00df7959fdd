#include "secagg/grid.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::grid_test {

using secagg::Grid;

TEST_CASE("a grid is read from range, step and bits, or refused by name") {
  CHECK(Grid::read("").is_exact());
  CHECK(Grid::read("").shift() == 0);
  const Grid grid = Grid::read("0.5, 2^-20 ,32");
  CHECK(grid.range == 0.5);
  CHECK(grid.step == 0x1p-20);
  CHECK(grid.bits == 32);
  CHECK(grid.shift() == 20);
  CHECK(Grid::read("4,0.25,64").shift() == 38);
  for (const char* bad : {"1", "1,2^-20", "1,2^-20,32,3", "0,2^-20,32", "x,2^-20,32", "1,0.3,32", "1,2^-41,32", "1,2,32",
                          "1,2^x,32", "1,2^-20,16", "1,2^-20,128", "1e9,2^-20,64", "nan,2^-20,32"})
    CHECK_USAGE_ERROR(Grid::read(bad), "secure-grid", "'" + std::string(bad) + "'", "RANGE,STEP,BITS");
}

TEST_CASE("a sum that could wrap is refused with the bits that it needs") {
  const Grid grid = Grid::read("1,2^-20,32");
  // 2^20 + 1 steps by weight: below 2^31 up to weight 2047.
  CHECK_NOTHROW(grid.check(2047));
  CHECK_USAGE_ERROR(grid.check(2048), "secure-grid", "32 bits", "33 bits", "2048");
  CHECK_NOTHROW(Grid::read("1,2^-20,64").check(2048));
  CHECK_NOTHROW(Grid().check(std::uint64_t{1} << 63));
}

TEST_CASE("rounding to the grid is unbiased, to a neighboring multiple, and a function of its address") {
  const Grid grid = Grid::read("1,2^-8,32");
  CHECK(grid.admits(std::vector<float>{1, -1, 0.3F}));
  CHECK_FALSE(grid.admits(std::vector<float>{1.001F}));
  CHECK_FALSE(grid.admits(std::vector<float>{std::nanf("")}));
  const std::vector<float> values{0.3F, -0.3F, 0.001F, 0.5F, -0.0001F};
  std::vector<double> mean(values.size());
  constexpr int kRounds = 20000;
  const RandomSource source(std::uint64_t{4});
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    std::vector<__int128> out(values.size()), again(values.size());
    grid.round(values, 3, source.at({Purpose::test, round}), out);
    grid.round(values, 3, source.at({Purpose::test, round}), again);
    CHECK(out == again);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double rounded = static_cast<double>(out[i]) / 3 / 256;
      REQUIRE(std::fabs(rounded - values[i]) < 1.0 / 256);
      mean[i] += rounded / kRounds;
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(std::fabs(mean[i] - values[i]) < 5 * 0.5 / 256 / std::sqrt(kRounds));
}

}  // namespace fedstride::test::grid_test
