#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/vector.hpp"

namespace fedstride {

/// A weighted sum of vectors that is exact once each component has been quantized: the order of the additions, the number of
/// threads and the number of processes cannot change a single bit. Components are rounded to multiples of 2^-40 (so each
/// contribution is off by at most 2^-41 per component) and added in doubles while every sum is exact there, otherwise as
/// 128-bit integers. Not thread-safe (but see integers): threads that share one must lock.
class ExactSum {
 public:
  static constexpr double kScale = 0x1.0p40;
  static constexpr float kMaxMagnitude = 0x1.0p22F;  ///< components must be smaller than this in magnitude

  explicit ExactSum(std::size_t size) : narrow_(size, 0) {}

  /// True if `values` may be added: all finite and below kMaxMagnitude in magnitude.
  static bool admits(std::span<const float> values);

  /// Adds weight x values. Requires admits(values) and the size of the sum; weight > 0, the sum of weights below 2^64.
  void add(std::span<const float> values, std::uint64_t weight);

  /// Adds everything that another sum holds.
  void merge(const ExactSum& other);

  /// The sums as integers of 2^-40, for reading or in-place addition before any other function is called. Each addition must be
  /// below 2^125 in magnitude. Different threads may change different components. Weights of such additions go to add_weight.
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
  std::vector<__int128, AlignedAllocator<__int128>> wide_ = {};  ///< empty while narrow_ has sufficed
  double reach_ = 0;                                             ///< no component of narrow_ is larger in magnitude
  std::uint64_t weight_ = 0;
};

/// The sum of nonnegative numbers, kept as one long integer and rounded once, in value(): the order in which they are
/// added changes no bit. For one number per client; vectors use ExactSum.
class ExactTotal {
 public:
  /// Requires 0 <= value < infinity, and fewer than 2^64 calls.
  void add(double value);

  /// Adds piece x 2^(position - kLowest): totals are sums of other sums' pieces (secure_sum.hpp). Requires position < kBits.
  void add_piece(unsigned position, std::uint64_t piece);
  /// The bits position to position + 63 of the sum as an integer of 2^-kLowest. Requires a multiple of 64 below kBits.
  std::uint64_t piece(unsigned position) const { return limbs_[position / kLimbBits]; }
  static constexpr unsigned kBits = 36 * 64;

  /// The double nearest to the sum, ties to even; infinite beyond the largest one. (A sum of only subnormal numbers may be
  /// rounded twice.)
  double value() const;

 private:
  static constexpr int kLimbBits = 64;
  static constexpr int kLowest = 1127;  ///< the last bit stands for 2^-kLowest: below the last bit of any double's 53
  std::array<std::uint64_t, kBits / 64> limbs_{};
};

}  // namespace fedstride
