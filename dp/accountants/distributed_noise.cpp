#include "dp/accountants/distributed_noise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fedstride {
namespace {

// An integer vector of that L2 norm has at most this L1 norm.
double rounded_l1(const DistributedNoise& noise) {
  const double norm = rounded_norm(noise);
  return norm * std::min(std::sqrt(static_cast<double>(noise.dimension)), norm);
}

}  // namespace

double rounded_norm(const DistributedNoise& noise) {
  const double norm = noise.clip / noise.step;
  const auto dimension = static_cast<double>(noise.dimension);
  const double root = std::sqrt(dimension);
  return std::min(norm + root, std::sqrt(norm * norm + dimension / 4 + norm + root / 2));  // sqrt(2 ln(1/beta)) is 1
}

double sum_of_discrete_gaussians_gap(double deviation, std::uint64_t shares) {
  const double rate = 2 * std::numbers::pi * std::numbers::pi * deviation * deviation;
  double sum = 0;
  for (std::uint64_t k = 1; k < shares; ++k) sum += std::exp(-rate * static_cast<double>(k) / static_cast<double>(k + 1));
  return 10 * sum;
}

double discrete_gaussian_rdp(const DistributedNoise& noise, double order) {
  const double deviation = noise.local_deviation / noise.step;
  const double of_sum = deviation * std::sqrt(static_cast<double>(noise.shares));
  const auto dimension = static_cast<double>(noise.dimension);
  const double gap = sum_of_discrete_gaussians_gap(deviation, noise.shares);
  const double l2 = rounded_norm(noise) / of_sum;
  const double l1 = rounded_l1(noise) / of_sum;
  const double shifted = l2 + std::sqrt(dimension) * gap;
  return std::min({order * l2 * l2 / 2 + gap * dimension, order / 2 * (l2 * l2 + 2 * l1 * gap + gap * gap * dimension),
                   order / 2 * shifted * shifted});
}

double skellam_rdp(const DistributedNoise& noise, double order) {
  const double deviation = noise.local_deviation / noise.step;
  const double variance = static_cast<double>(noise.shares) * deviation * deviation;
  const double l2 = rounded_norm(noise);
  const double l1 = rounded_l1(noise);
  return order * l2 * l2 / (2 * variance) +
         std::min(((2 * order - 1) * l2 * l2 + 6 * l1) / (4 * variance * variance), 3 * l1 / (2 * variance));
}

}  // namespace fedstride
