#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "core/random.hpp"

namespace fedstride {

/// A release of the sum of clients' vectors, each with a share of discrete noise from its client, for zero-out or replace-one
/// neighbors. Gaussian noise has one share and no grid.
struct DistributedNoise {
  double step = 0;             ///< grid step to which vectors are rounded (gamma)
  double local_deviation = 0;  ///< standard deviation of a client's noise, in the vectors' unit
  std::uint64_t shares = 0;    ///< shares certain to be in the sum and known only to their owners: survivors minus colluders
  double clip = 0;             ///< L2 norm of a vector before rounding
  std::uint64_t dimension = 0;
  double distance = 1;  ///< largest change between neighbors, in rounded vectors: 2 for replace-one
};

/// The largest L2 norm, in steps, of a clipped vector after conditional rounding, which is repeated until the norm is at most
/// min(c/g + sqrt d, sqrt((c/g)^2 + d/4 + sqrt(2 ln(1/beta)) (c/g + sqrt(d)/2))), beta = e^-1/2 (Kairouz, Liu & Steinke 2021).
inline double rounded_norm(const DistributedNoise& noise) {
  const double norm = noise.clip / noise.step;
  const auto dimension = static_cast<double>(noise.dimension);
  const double root = std::sqrt(dimension);
  return std::min(norm + root, std::sqrt(norm * norm + dimension / 4 + norm + root / 2));  // sqrt(2 ln(1/beta)) is 1
}
/// The largest change of the rounded sum between neighbors, in steps: its L2 norm, and the largest L1 norm of an integer vector
/// with that L2 norm.
inline double distance_l2(const DistributedNoise& noise) { return noise.distance * rounded_norm(noise); }
inline double distance_l1(const DistributedNoise& noise) {
  const double norm = distance_l2(noise);
  return norm * std::min(std::sqrt(static_cast<double>(noise.dimension)), norm);
}

/// A Gaussian release that bounds the cost of another release: up to a factor of at most e^log_factor, the outcomes of the other
/// release have the probabilities of a function of the Gaussian outcome.
struct GaussianLike {
  double noise_multiplier = 0;
  double log_factor = 0;  ///< per release
};

/// Noise on integers, ready to be drawn.
struct IntegerNoise {
  double variance = 0;
  std::function<std::int64_t(RandomStream&)> draw = {};
};

/// The distribution of a release's noise: everything that accountants and clients need to know. A law is a final class with kName
/// and an entry in the list (dp/laws/laws.hpp). All laws except the Gaussian are on integers; their noise is a sum of equal
/// shares, which the owners of records add.
class Law {
 public:
  virtual ~Law() = default;

  /// The Rényi divergence of an unsampled release, at any order above 1.
  virtual double rdp(const DistributedNoise& noise, double order) const = 0;
  /// True if some Gaussian release costs at least as much; the accountant `tight` has a bound only through that release.
  virtual bool has_gaussian_like() const { return false; }
  virtual std::optional<GaussianLike> gaussian_like(const DistributedNoise& /*noise*/) const { return std::nullopt; }

  /// A share whose standard deviation, in steps, is at least `deviation` and less than `deviation` + 1. Throws Error (usage) if
  /// it cannot be drawn.
  virtual IntegerNoise share(double deviation) const = 0;
  /// The range of standard deviations, in steps, of shares that have a useful bound and can be drawn.
  virtual double least_steps() const { return 0; }
  virtual double most_steps() const { return 0x1p31; }
  /// The c with P(sum of shares >= t) <= exp(-t^2 / (2 (V + c t))), where V is the sum's variance; it determines how many bits a
  /// sum needs.
  virtual double tail(double /*deviation*/) const { return 1.0 / 3; }
};

}  // namespace fedstride
