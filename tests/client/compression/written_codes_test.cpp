// What docs/reference/codes.md says, done number by number.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "client/compression/compressor.hpp"
#include "client/compression/drive.hpp"
#include "client/compression/rounding.hpp"

namespace fedstride::test::written_codes_test {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

struct Written {
  std::uint64_t seed;
  std::uint32_t round, client, part;

  std::uint32_t word(std::uint32_t j) const {
    const std::uint64_t key = mix(mix(seed + 0x9e3779b97f4a7c15) ^ (std::uint64_t{27} << 32 | round));
    const std::uint32_t block = 16 * (j / 64) + j % 16, k = j / 16 % 4;
    return philox4x32({block, 0, part, client}, {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)})[k];
  }
};

std::vector<float> some_numbers(std::size_t count) {
  RandomStream random(5, {.purpose = Purpose::test});
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(random.normal());
  return numbers;
}

constexpr Written kWritten{.seed = 77, .round = 9, .client = 3, .part = 1};
constexpr CodeAddress kAddress{.seed = 77, .round = 9, .client = 3, .part = 1};

}  // namespace

TEST_CASE("rounding draws the words that are written, one a number") {
  const std::vector<float> numbers = some_numbers(2500);
  std::string code;
  StochasticRounding<UpCompressor> rounding;
  rounding.step = 0.25;
  rounding.encode(numbers, kAddress, code);
  std::vector<float> read(numbers.size());
  REQUIRE(rounding.decode(code, kAddress, read));
  for (std::uint32_t n = 0; n < numbers.size(); ++n) {
    const float scaled = numbers[n] / 0.25F, low = std::floor(scaled);
    const float drawn = static_cast<float>(kWritten.word(n) >> 8) / 0x1p24F;
    CHECK(read[n] == (drawn < scaled - low ? low + 1 : low) * 0.25F);
  }
}

TEST_CASE("drive is read by the signs and the transform that are written") {
  for (const std::size_t d : {std::size_t{1210}, std::size_t{8192 + 40}}) {
    const std::vector<float> numbers = some_numbers(d);
    std::string code;
    const Drive<UpCompressor> drive;
    drive.encode(numbers, kAddress, code);
    if (d == 1210) CHECK(code.size() == 4 + 2048 / 8);
    std::vector<float> read(d);
    REQUIRE(drive.decode(code, kAddress, read));
    std::string_view rest = code;
    for (std::uint32_t block = 0; block * 8192 < d; ++block) {
      const std::size_t count = std::min<std::size_t>(8192, d - block * 8192), n = std::bit_ceil(count);
      const auto scale = take_number<float>(rest);
      for (std::size_t i = 0; i < count; i += 37) {
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) {
          const bool is_negative = (static_cast<unsigned char>(rest[j / 8]) >> j % 8 & 1) != 0;
          sum += (std::popcount(i & j) % 2 != 0) == is_negative ? scale : -scale;
        }
        const std::uint32_t word = kWritten.word(1024 * block + static_cast<std::uint32_t>(i / 32));
        const double expected = sum / std::sqrt(static_cast<double>(n)) * ((word >> i % 32 & 1) != 0 ? -1 : 1);
        CHECK(read[block * 8192 + i] == doctest::Approx(expected).epsilon(1e-4));
      }
      rest.remove_prefix(n / 8);
    }
  }
}

}  // namespace fedstride::test::written_codes_test
