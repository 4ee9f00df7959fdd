#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// The mean of one vector a record, released once with noise. The records' number is public; a vector is of values in [-1, 1], counts with
/// its values scaled by 1 / sqrt(size), and so with a norm of 1 at most: the sum moves by 1 between add-remove and zero-out
/// neighbours and by 2 between replace-one neighbours, as a sum of gradients clipped to 1 does. Values are clipped to [-1, 1]; one
/// that is not a number counts as 0.
class NoisyMean {
 public:
  explicit NoisyMean(std::size_t size) : sum_(size, 0) {}

  void add(std::span<const double> values);

  /// (sum + noise) / records, the noise on the scaled sum a Gaussian of deviation `noise_multiplier`, drawn at the address. Throws Error
  /// (usage) unless the multiplier is above 0 and there is a record.
  std::vector<double> release(double noise_multiplier, std::uint64_t records, const RandomSource& source,
                              const Address& address) const;

 private:
  std::vector<double> sum_;
};

/// That release as accountants see it.
Releases noisy_mean_release(double noise_multiplier, Neighbours neighbours);

}  // namespace fedstride
