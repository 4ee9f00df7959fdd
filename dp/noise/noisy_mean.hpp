#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// The mean of one vector per record, released once with noise. The number of records is public. Each vector's values are clipped
/// to [-1, 1] (NaN becomes 0) and then its norm to `bound`. The sum moves by at most `bound` between add-remove or zero-out
/// neighbors and by at most twice that between replace-one neighbors, like a sum of gradients clipped to `bound`.
class NoisyMean {
 public:
  /// Sets the bound that values in [-1, 1] cannot exceed, sqrt(size).
  explicit NoisyMean(std::size_t size);
  NoisyMean(std::size_t size, double bound) : sum_(size, 0), bound_(bound) {}

  void add(std::span<const double> values);

  /// Returns (sum + noise) / records, with Gaussian noise of standard deviation `noise_multiplier` x bound (dp/noise/grid_noise.hpp),
  /// drawn at `address`. Throws Error (usage) unless the multiplier is above 0 and there is at least one
  /// record.
  std::vector<double> release(double noise_multiplier, std::uint64_t records, const RandomSource& source,
                              const Address& address) const;

 private:
  std::vector<double> sum_;
  double bound_;
};

/// The release, as accountants see it.
Releases noisy_mean_release(double noise_multiplier, Neighbours neighbours);

}  // namespace fedstride
