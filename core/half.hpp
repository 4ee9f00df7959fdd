#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace fedstride {

/// The bits of the nearest half-precision float, ties to even; values out of range, infinities and NaNs become +-65504.
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

/// The float with these half-precision bits; NaNs become quiet.
inline float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = (half & std::uint32_t{0x8000}) << 16;
  const std::uint32_t rest = half & std::uint32_t{0x7FFF};
  const float large = std::bit_cast<float>((rest << 13) + (std::uint32_t{112} << 23));
  const float small = static_cast<float>(rest) * 0x1.0p-24F;
  const float special = std::bit_cast<float>(std::uint32_t{rest > 0x7C00 ? 0x7FC00000U : 0x7F800000U});
  const float size = rest >= 0x7C00 ? special : rest < 0x400 ? small : large;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
}

}  // namespace fedstride
