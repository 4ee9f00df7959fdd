#pragma once

#include <cstdint>

#include "core/random.hpp"

namespace fedstride {

/// The discrete Gaussian on the integers, P(x) proportional to exp(-x^2 / (2 sigma^2)), drawn exactly: all arithmetic is on
/// integers, and every branch is taken with exactly its probability (Canonne, Kamath & Steinke 2020, Algorithms 1 to 3). sigma
/// is a whole number in [1, 2^62]. The time of a draw depends on its value.
class DiscreteGaussian {
 public:
  /// Throws Error (usage) for a sigma out of range.
  explicit DiscreteGaussian(std::uint64_t sigma);

  __int128 operator()(RandomStream& random) const;

 private:
  std::uint64_t sigma_;
};

}  // namespace fedstride
