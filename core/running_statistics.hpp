#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/vector.hpp"

namespace fedstride {

/// The running statistics of a batch normalization: where its means and its variances lie in a model's flat vector.
struct RunningStatistics {
  std::size_t mean = 0;
  std::size_t variance = 0;
  std::size_t size = 0;
};

/// Makes the change of each variance that of the second moment, variance + mean^2. Clients' second moments average to that of all
/// their batches, and so do means, whereas an average of variances lacks the variance of the means (law of total variance).
inline void add_squares_of_means(const Vector& start, const Vector& end, std::span<const RunningStatistics> all,
                                 std::span<float> change) {
  for (const RunningStatistics& one : all)
    for (std::size_t i = 0; i < one.size; ++i) {
      const float before = start[one.mean + i], after = end[one.mean + i];
      change[one.variance + i] += after * after - before * before;
    }
}

/// Takes the mean changes of means and second moments out of `mean_change`, leaving zeros, and applies them to the statistics in
/// `model`. Rounding, noise or lossy compression make no variance negative.
inline void average_statistics(std::span<const RunningStatistics> all, Vector& model, Vector& mean_change) {
  for (const RunningStatistics& one : all)
    for (std::size_t i = 0; i < one.size; ++i) {
      float &mean = model[one.mean + i], &variance = model[one.variance + i];
      float &by_mean = mean_change[one.mean + i], &by_square = mean_change[one.variance + i];
      const double square =
          static_cast<double>(variance) + static_cast<double>(mean) * static_cast<double>(mean) + static_cast<double>(by_square);
      mean += by_mean;
      variance = static_cast<float>(std::max(0.0, square - static_cast<double>(mean) * static_cast<double>(mean)));
      by_mean = by_square = 0;
    }
}

}  // namespace fedstride
