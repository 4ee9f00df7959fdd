#include "core/exact_sum.hpp"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>

namespace fedstride {

bool ExactSum::admits(std::span<const float> values) {
  bool good = true;
  for (const float value : values) good &= std::fabs(value) < kMaxMagnitude;  // false for NaN
  return good;
}

void ExactSum::add(std::span<const float> values, std::uint64_t weight) {
  assert(values.size() == sums_.size() && admits(values));
  const auto factor = static_cast<__int128>(weight);
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Exact product (a power of two), one rounding to the nearest integer, |integer| < 2^62.
    const auto quantized = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(values[i]) * kScale));
    sums_[i] += factor * quantized;
  }
  weight_ += weight;
}

void ExactSum::add_integers(std::size_t first, std::span<const __int128> integers) {
  assert(first <= sums_.size() && integers.size() <= sums_.size() - first);
  for (std::size_t i = 0; i < integers.size(); ++i) sums_[first + i] += integers[i];
}

void ExactSum::merge(const ExactSum& other) {
  assert(other.size() == size());
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
  weight_ += other.weight_;
}

void ExactSum::divided_by(double denominator, Vector& out) const {
  assert(denominator > 0);
  out.resize(sums_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    out[i] = static_cast<float>(static_cast<double>(sums_[i]) / kScale / denominator);
  }
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
  // The first 64 bits, the last of which is also set if any bit after them is: that decides whether a tie is one.
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
