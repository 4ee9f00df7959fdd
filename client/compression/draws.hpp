#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/random.hpp"

namespace fedstride {

/// Draws the words of a seeded stream, many at a time, in its own order: word j is a function of the stream's address and j.
class Draws {
 public:
  static constexpr std::size_t kAtOnce = 1024;

  explicit Draws(const RandomStream& stream);
  /// The next kAtOnce words.
  const std::array<std::uint32_t, kAtOnce>& next();

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::uint32_t block_ = 0;
  alignas(64) std::array<std::uint32_t, kAtOnce> words_;
};

/// Converts a word to a uniform number in [0, 1), a multiple of 2^-24.
inline float uniform_of(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1.0p-24F; }

}  // namespace fedstride
