#include "dp/accountants/distributed_noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace fedstride {
namespace {

double distance_l2(const DistributedNoise& noise) { return noise.distance * rounded_norm(noise); }

// An integer vector of that L2 norm has at most this L1 norm.
double distance_l1(const DistributedNoise& noise) {
  const double norm = distance_l2(noise);
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
  const double l2 = distance_l2(noise) / of_sum;
  const double l1 = distance_l1(noise) / of_sum;
  const double shifted = l2 + std::sqrt(dimension) * gap;
  return std::min({order * l2 * l2 / 2 + gap * dimension, order / 2 * (l2 * l2 + 2 * l1 * gap + gap * gap * dimension),
                   order / 2 * shifted * shifted});
}

double skellam_rdp(const DistributedNoise& noise, double order) {
  const double deviation = noise.local_deviation / noise.step;
  const double variance = static_cast<double>(noise.shares) * deviation * deviation;
  const double l2 = distance_l2(noise);
  const double l1 = distance_l1(noise);
  return order * l2 * l2 / (2 * variance) +
         std::min(((2 * order - 1) * l2 * l2 + 6 * l1) / (4 * variance * variance), 3 * l1 / (2 * variance));
}

DistributedNoise distributed_noise(const Releases& release) {
  return {.step = release.shares.step,
          .local_deviation = release.noise_multiplier / std::sqrt(static_cast<double>(release.shares.count)),
          .shares = release.shares.count,
          .clip = 1,
          .dimension = release.shares.dimension,
          .distance = distance_between(release.neighbours)};
}

double distributed_rdp(const Releases& release, double order) {
  const DistributedNoise noise = distributed_noise(release);
  if (release.law == NoiseLaw::discrete_gaussian) return discrete_gaussian_rdp(noise, order);
  const double below = std::floor(order);
  if (below == order) return skellam_rdp(noise, order);
  const auto scaled = [&](double whole) { return whole <= 1 ? 0 : (whole - 1) * skellam_rdp(noise, whole); };
  return ((below + 1 - order) * scaled(below) + (order - below) * scaled(below + 1)) / (order - 1);
}

GaussianLike gaussian_like(const Releases& release) {
  const DistributedNoise noise = distributed_noise(release);
  const double deviation = noise.local_deviation / noise.step;
  const double variance = static_cast<double>(noise.shares) * deviation * deviation;
  const double rounding = std::min(4.0, variance / 2);
  const double first = std::exp(-2 * std::numbers::pi * std::numbers::pi * rounding);  // of a sum of its powers 1, 4, 9, ...
  const double e = 2 * first / (1 - first * first * first);
  const double factors = e < 0.5 ? std::log1p(e) - std::log1p(-e) : std::numeric_limits<double>::infinity();
  constexpr double kSlack = 1 - 1e-12;  // for rounding errors here
  return {std::sqrt(variance - rounding) / rounded_norm(noise) * kSlack,
          static_cast<double>(noise.dimension) * (sum_of_discrete_gaussians_gap(deviation, noise.shares) + factors) / kSlack};
}

}  // namespace fedstride
