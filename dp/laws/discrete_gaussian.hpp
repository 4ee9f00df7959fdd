#pragma once

#include "dp/laws/law.hpp"

namespace fedstride {

/// The gap between a sum of this many discrete Gaussians and one discrete Gaussian (tau in the paper below), for a standard
/// deviation in steps: 10 sum_{k=1}^{n-1} exp(-2 pi^2 deviation^2 k / (k + 1)).
double sum_of_discrete_gaussians_gap(double deviation, std::uint64_t shares);

/// Discrete Gaussian shares (Kairouz, Liu & Steinke 2021, proposition 14).
struct DiscreteGaussianLaw final : Law {
  static constexpr std::string_view kName = "discrete-gaussian";
  double rdp(const DistributedNoise& noise, double order) const override;
  bool has_gaussian_like() const override { return true; }
  /// If each component x of a Gaussian of variance s^2 - r^2 is replaced by an integer k with probability proportional to exp(-(k
  /// - x)^2 / (2 r^2)), the result is a discrete Gaussian of variance s^2 up to the factor that normalizes these probabilities.
  /// This factor is between 1 - e and 1 + e, where e = 2 sum_{k>0} exp(-2 pi^2 r^2 k^2) (Poisson summation). A sum of discrete
  /// Gaussians is a discrete Gaussian up to the factor exp(tau), with tau as above.
  std::optional<GaussianLike> gaussian_like(const DistributedNoise& noise) const override;
  /// The deviation is rounded up to a binary fraction of a step or, if large, to whole steps.
  IntegerNoise share(double deviation) const override;
  double least_steps() const override { return 2; }  // the sum is then near a discrete Gaussian
};

}  // namespace fedstride
