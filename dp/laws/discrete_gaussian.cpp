#include "dp/laws/discrete_gaussian.hpp"

#include <limits>
#include <numbers>

#include "dp/noise/discrete_gaussian.hpp"

namespace fedstride {

double sum_of_discrete_gaussians_gap(double deviation, std::uint64_t shares) {
  const double rate = 2 * std::numbers::pi * std::numbers::pi * deviation * deviation;
  double sum = 0;
  for (std::uint64_t k = 1; k < shares; ++k) sum += std::exp(-rate * static_cast<double>(k) / static_cast<double>(k + 1));
  return 10 * sum;
}

double DiscreteGaussianLaw::rdp(const DistributedNoise& noise, double order) const {
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

std::optional<GaussianLike> DiscreteGaussianLaw::gaussian_like(const DistributedNoise& noise) const {
  const double deviation = noise.local_deviation / noise.step;
  const double variance = static_cast<double>(noise.shares) * deviation * deviation;
  const double rounding = std::min(4.0, variance / 2);
  const double first = std::exp(-2 * std::numbers::pi * std::numbers::pi * rounding);  // first term; rest: its powers 4, 9, ...
  const double e = 2 * first / (1 - first * first * first);
  const double factors = e < 0.5 ? std::log1p(e) - std::log1p(-e) : std::numeric_limits<double>::infinity();
  constexpr double kSlack = 1 - 1e-12;  // for rounding errors here
  return GaussianLike{
      std::sqrt(variance - rounding) / rounded_norm(noise) * kSlack,
      static_cast<double>(noise.dimension) * (sum_of_discrete_gaussians_gap(deviation, noise.shares) + factors) / kSlack};
}

IntegerNoise DiscreteGaussianLaw::share(double deviation) const {
  // Rounded up to a binary fraction of a step: never below the accounted deviation and, from half a step upward, at most a factor
  // of 1 + 2^-15 above it.
  constexpr double kParts = 0x1p16;
  const double parts = deviation < kParts ? std::ldexp(1.0, std::min(std::ilogb(kParts / deviation), 16)) : 1;
  const double sigma = std::ceil(deviation * parts);
  const DiscreteGaussian gaussian(static_cast<std::uint64_t>(sigma), static_cast<std::uint64_t>(parts));
  return {sigma / parts * (sigma / parts),
          [gaussian](RandomStream& random) { return static_cast<std::int64_t>(gaussian(random)); }};
}

}  // namespace fedstride
