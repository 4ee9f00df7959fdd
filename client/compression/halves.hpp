#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "client/compression/bits.hpp"
#include "core/half.hpp"

namespace fedstride {

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
