#include "dp/noise/noisy_mean.hpp"

#include <algorithm>
#include <cmath>

#include "core/family.hpp"
#include "core/text.hpp"
#include "dp/noise/grid_noise.hpp"

namespace fedstride {

NoisyMean::NoisyMean(std::size_t size) : NoisyMean(size, std::sqrt(static_cast<double>(size))) {}

void NoisyMean::add(std::span<const double> values) {
  if (values.size() != sum_.size())
    throw failure("a vector has " + std::to_string(values.size()) + " components; it must have " + std::to_string(sum_.size()));
  const auto clipped = [](double value) { return std::isnan(value) ? 0 : std::clamp(value, -1.0, 1.0); };
  double squares = 0;
  for (const double value : values) squares += clipped(value) * clipped(value);
  constexpr double kMargin = 1e-12;  // exceeds the rounding errors of the norm
  const double scale = squares > bound_ * bound_ * (1 - kMargin) ? bound_ * (1 - kMargin) / std::sqrt(squares) : 1;
  for (std::size_t i = 0; i < values.size(); ++i) sum_[i] += scale * clipped(values[i]);
}

std::vector<double> NoisyMean::release(double noise_multiplier, std::uint64_t records, const RandomSource& source,
                                       const Address& address) const {
  check_value("noise multiplier of a mean", kPositive, noise_multiplier);
  if (records == 0) throw usage_error("a mean of 0 records cannot be released; at least 1 is needed");
  // More records could exceed the numbers that on_grid() lets pass.
  if (const double least = static_cast<double>(records) * 0x1p-27; noise_multiplier < least)
    throw usage_error("the noise multiplier of a mean of " + std::to_string(records) + " records is " +
                      number_text(noise_multiplier) + "; it must be at least " + number_text(least));
  std::vector<double> mean(sum_.size());
  const auto count = static_cast<double>(records);
  const NoiseGrid grid =
      noise_grid(bound_ * (1 + accumulation_error(count + 1)), noise_multiplier, static_cast<double>(sum_.size()));
  release_on_grid(grid, source, address, 0, sum_, 1 / count, mean);
  return mean;
}

Releases noisy_mean_release(double noise_multiplier, Neighbours neighbours) {
  return {.sampling = Sampling::full, .neighbours = neighbours, .rate = 1, .noise_multiplier = noise_multiplier};
}

}  // namespace fedstride
