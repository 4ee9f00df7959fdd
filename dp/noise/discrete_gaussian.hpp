#pragma once

#include <cstdint>

#include "core/random.hpp"

namespace fedstride {

/// The discrete Gaussian on the integers, P(x) proportional to exp(-x^2 / (2 sigma^2)), drawn exactly: all arithmetic is on
/// integers, and every branch is taken with exactly its probability (Canonne, Kamath & Steinke 2020, Algorithms 1 to 3). sigma is
/// p / q, with whole p in [1, 2^62] and whole q in [1, min(p, 2^20)]. The time that a draw takes depends on its value.
class DiscreteGaussian {
 public:
  /// Throws Error (usage) for a sigma out of range.
  explicit DiscreteGaussian(std::uint64_t p, std::uint64_t q = 1);

  __int128 operator()(RandomStream& random) const;

 private:
  std::uint64_t p_;
  std::uint64_t q_;
};

}  // namespace fedstride
