#pragma once

#include <array>
#include <cstdint>

namespace fedstride {

/// The sum of numbers that are not negative, kept whole as one long integer and rounded once, in value(): the order in which they
/// are added changes no bit. For a number of each client; whole vectors are ExactSum's.
class ExactTotal {
 public:
  /// Requires 0 <= value < infinity, and fewer than 2^64 calls.
  void add(double value);

  /// The double nearest to the sum, ties to even; infinite beyond the largest one. (A sum of subnormal numbers alone may be rounded twice.)
  double value() const;

 private:
  static constexpr int kLimbBits = 64;
  static constexpr int kLowest = 1127;  ///< the last bit stands for 2^-kLowest: below the last bit of any double's 53
  std::array<std::uint64_t, 36> limbs_{};
};

}  // namespace fedstride
