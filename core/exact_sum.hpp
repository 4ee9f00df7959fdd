#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/vector.hpp"

namespace fedstride {

/// A weighted sum of vectors that is exact once each component has been quantized: the order of the additions, the number of
/// threads and the number of processes cannot change a single bit. Components are rounded to multiples of 2^-40 (so each
/// contribution is off by at most 2^-41 per component) and added in doubles while this is exact, otherwise as 128-bit integers.
/// Not thread-safe (but see integers): threads that share a sum must lock it.
class ExactSum {
 public:
  static constexpr double kScale = 0x1.0p40;
  static constexpr float kMaxMagnitude = 0x1.0p22F;  ///< components must be smaller than this in magnitude

  explicit ExactSum(std::size_t size) : narrow_(size, 0) {}

  /// True if `values` may be added: all finite and below kMaxMagnitude in magnitude.
  static bool admits(std::span<const float> values);
  /// Sets `change` to after - before, all of one size, and returns admits(change), in one pass.
  static bool admits_change(const float* after, const float* before, std::span<float> change);

  /// Adds weight x values. Requires admits(values), values.size() == size(), weight > 0, and a total weight below 2^64.
  void add(std::span<const float> values, std::uint64_t weight);

  /// Adds another sum and its weight.
  void merge(const ExactSum& other);

  /// The sums as integer multiples of 2^-40, to be read or added to in place before any other function is called. Each addend
  /// must be below 2^125 in magnitude. Different threads may change different components. Pass the weights to add_weight.
  std::span<__int128> integers();
  void add_weight(std::uint64_t weight) { weight_ += weight; }

  /// The sum of the weights so far.
  std::uint64_t weight() const { return weight_; }
  std::size_t size() const { return narrow_.size(); }

  /// The sum divided by `denominator` > 0: rounded to double, divided in double, rounded to float.
  void divided_by(double denominator, Vector& out) const;

 private:
  void make_room(double reach);

  // The sum is narrow_ + wide_ / kScale.
  std::vector<double, AlignedAllocator<double>> narrow_;
  std::vector<__int128, AlignedAllocator<__int128>> wide_ = {};  ///< empty while narrow_ suffices
  double reach_ = 0;                                             ///< bounds the magnitude of narrow_'s components
  std::uint64_t weight_ = 0;
};

/// The sum of nonnegative numbers, kept as one long integer and rounded once, in value(): the order of the additions does not
/// change a bit. For one number per client; vectors use ExactSum.
class ExactTotal {
 public:
  /// Requires 0 <= value < infinity, and fewer than 2^64 calls.
  void add(double value);

  /// Adds piece x 2^(position - kLowest), so totals can be added piece by piece (secure_sum.hpp). Requires position < kBits.
  void add_piece(unsigned position, std::uint64_t piece);
  /// Bits `position` to `position` + 63 of the sum as an integer multiple of 2^-kLowest. Requires `position` to be a multiple of
  /// 64 below kBits.
  std::uint64_t piece(unsigned position) const { return limbs_[position / kLimbBits]; }
  static constexpr unsigned kBits = 36 * 64;

  /// The double nearest to the sum, ties to even; infinity beyond the largest double. (A sum of only subnormal numbers may be
  /// rounded twice.)
  double value() const;

 private:
  static constexpr int kLimbBits = 64;
  static constexpr int kLowest = 1127;  ///< the last bit stands for 2^-kLowest, below the last of any double's 53 bits
  std::array<std::uint64_t, kBits / 64> limbs_{};
};

}  // namespace fedstride
