#include "core/exact_sum.hpp"

#include <cassert>
#include <cmath>

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
    const auto quantised = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(values[i]) * kScale));
    sums_[i] += factor * quantised;
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

}  // namespace fedstride
