#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "client/compression/bits.hpp"

namespace fedstride {

/// The bits of the nearest half-precision float, ties to even; the largest one for what is larger.
inline std::uint16_t half_of(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const float size = std::fmin(std::fabs(value), 65504.0F);
  // Below 2^-14, where halves are 2^-24 apart, adding 1/2 rounds to that grid; above, the low 13 bits are rounded off.
  const auto small = std::bit_cast<std::uint32_t>(size + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  const auto whole = std::bit_cast<std::uint32_t>(size);
  const std::uint32_t large = (whole + 0xFFF + (whole >> 13 & 1) - (std::uint32_t{112} << 23)) >> 13;
  return static_cast<std::uint16_t>(sign | (size < 0x1.0p-14F ? small : large));
}
inline float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = (half & std::uint32_t{0x8000}) << 16;
  const std::uint32_t rest = half & std::uint32_t{0x7FFF};
  const float large = std::bit_cast<float>((rest << 13) + (std::uint32_t{112} << 23));
  const float small = static_cast<float>(rest) * 0x1.0p-24F;
  const float infinite = std::bit_cast<float>(std::uint32_t{0x7F800000});
  const float size = rest >= 0x7C00 ? infinite : rest < 0x400 ? small : large;  // NaN is not told from infinity
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
}

inline std::uint16_t bfloat_of(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
inline float float_of_bfloat(std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); }

/// True if no number is infinite or NaN.
inline bool all_finite(std::span<const float> numbers) {
  bool good = true;
  for (const float number : numbers) good &= std::fabs(number) <= 0x1.fffffep127F;
  return good;
}

void put_halves(std::span<const float> numbers, std::string& code, auto convert) {
  const std::size_t at = code.size();
  code.resize(at + 2 * numbers.size());
  char* to = code.data() + at;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint16_t half = convert(numbers[i]);
    std::memcpy(to + 2 * i, &half, sizeof half);
  }
}
bool take_halves(std::string_view code, std::span<float> numbers, auto convert) {
  if (code.size() != 2 * numbers.size()) return false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, code.data() + 2 * i, sizeof half);
    numbers[i] = convert(half);
  }
  return all_finite(numbers);
}

}  // namespace fedstride
