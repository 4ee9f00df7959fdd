#include "core/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace fedstride {

namespace {

/// The largest reach_ allowed. Multiples of 2^-40 are exact in double up to four times this, so rounding of reach_ itself is
/// harmless.
constexpr double kMaxReach = 0x1p11;
/// Its last bit stands for 2^-40, so adding and then subtracting it rounds a double of magnitude at most kMaxReach to the nearest
/// multiple of 2^-40, ties to even.
constexpr double kRounder = 0x1.8p12;

/// The largest magnitude; NaN counts as above infinity. Without signs, floats are ordered like their bits.
float largest_magnitude(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float value : values) largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7fffffff);
  return std::bit_cast<float>(largest);
}

std::int64_t to_integer(double sum) { return static_cast<std::int64_t>(sum * ExactSum::kScale); }

}  // namespace

bool ExactSum::admits(std::span<const float> values) { return largest_magnitude(values) < kMaxMagnitude; }

bool ExactSum::admits_change(const float* __restrict after, const float* __restrict before, std::span<float> change) {
  float* const __restrict out = change.data();
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < change.size(); ++i) {
    out[i] = after[i] - before[i];
    largest = std::max(largest, std::bit_cast<std::uint32_t>(out[i]) & 0x7fffffff);
  }
  return std::bit_cast<float>(largest) < kMaxMagnitude;
}

void ExactSum::add(std::span<const float> values, std::uint64_t weight) {
  assert(values.size() == size() && admits(values));
  weight_ += weight;
  const auto factor = static_cast<double>(weight);
  const double reach = factor * (static_cast<double>(largest_magnitude(values)) + 1 / kScale);
  if (reach <= kMaxReach) {
    make_room(reach);
    for (std::size_t i = 0; i < values.size(); ++i)
      narrow_[i] += factor * ((static_cast<double>(values[i]) + kRounder) - kRounder);
    return;
  }
  wide_.resize(size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Scaling by a power of two is exact, so this rounds once, to the nearest integer, which is below 2^62 in magnitude.
    const auto quantized = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(values[i]) * kScale));
    wide_[i] += static_cast<__int128>(weight) * quantized;
  }
}

void ExactSum::make_room(double reach) {
  if (reach_ + reach > kMaxReach) integers();
  reach_ += reach;
}

std::span<__int128> ExactSum::integers() {
  wide_.resize(size(), 0);
  if (reach_ > 0)
    for (std::size_t i = 0; i < size(); ++i) wide_[i] += to_integer(std::exchange(narrow_[i], 0));
  reach_ = 0;
  return wide_;
}

void ExactSum::merge(const ExactSum& other) {
  assert(other.size() == size());
  make_room(other.reach_);
  for (std::size_t i = 0; i < size(); ++i) narrow_[i] += other.narrow_[i];
  if (!other.wide_.empty()) {
    wide_.resize(size(), 0);
    for (std::size_t i = 0; i < size(); ++i) wide_[i] += other.wide_[i];
  }
  weight_ += other.weight_;
}

void ExactSum::divided_by(double denominator, Vector& out) const {
  assert(denominator > 0);
  out.resize(size());
  if (wide_.empty()) {
    for (std::size_t i = 0; i < size(); ++i) out[i] = static_cast<float>(narrow_[i] / denominator);
    return;
  }
  for (std::size_t i = 0; i < size(); ++i)
    out[i] = static_cast<float>(static_cast<double>(wide_[i] + to_integer(narrow_[i])) / kScale / denominator);
}

void ExactTotal::add(double value) {
  constexpr int kDigits = std::numeric_limits<double>::digits;
  int exponent = 0;
  const auto digits = static_cast<std::uint64_t>(std::ldexp(std::frexp(value, &exponent), kDigits));
  if (digits == 0) return;
  add_piece(static_cast<unsigned>(exponent - kDigits + kLowest), digits);
}

void ExactTotal::add_piece(unsigned position, std::uint64_t piece) {
  unsigned __int128 carried = static_cast<unsigned __int128>(piece) << position % kLimbBits;
  for (std::size_t limb = position / kLimbBits; carried != 0 && limb < limbs_.size(); ++limb) {
    const unsigned __int128 sum = carried + limbs_[limb];  // below 2^118
    limbs_[limb] = static_cast<std::uint64_t>(sum);
    carried = sum >> kLimbBits;
  }
}

double ExactTotal::value() const {
  std::size_t top = limbs_.size() - 1;
  while (top > 0 && limbs_[top] == 0) --top;
  if (limbs_[top] == 0) return 0;
  // The leading 64 bits. The last of them is also set if any later bit is set, so that ties are rounded correctly.
  const int unused = std::countl_zero(limbs_[top]);
  const auto limb = [&](std::size_t i) { return top >= i ? limbs_[top - i] : 0; };
  std::uint64_t first = limb(0) << unused;
  std::uint64_t after = limb(1);
  if (unused > 0) {
    first |= limb(1) >> (kLimbBits - unused);
    after = limb(1) << unused;
  }
  for (std::size_t i = 2; i <= top; ++i) after |= limb(i);
  if (after != 0) first |= 1;
  return std::ldexp(static_cast<double>(first), static_cast<int>(top) * kLimbBits - unused - kLowest);
}

}  // namespace fedstride
