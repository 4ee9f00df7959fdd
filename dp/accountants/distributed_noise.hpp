#pragma once

#include <cstdint>

namespace fedstride {

/// A release of the sum of clients' vectors to which each client has added a share of discrete noise, for zero-out or replace-one
/// neighbors whose sums differ by one clipped vector.
struct DistributedNoise {
  double step = 0;             ///< of the grid to which vectors are rounded (gamma)
  double local_deviation = 0;  ///< of the noise that a client adds, in the vectors' unit
  std::uint64_t shares = 0;    ///< of noise that is certainly in the sum and known to nobody: survivors less colluders
  double clip = 0;             ///< L2 norm of a vector before rounding
  std::uint64_t dimension = 0;
};

/// The largest L2 norm, in steps, that a clipped vector has after conditional rounding: it is rounded again until it is at most
/// min(c/g + sqrt d, sqrt((c/g)^2 + d/4 + sqrt(2 ln(1/beta)) (c/g + sqrt(d)/2))), beta = e^-1/2 (Kairouz, Liu & Steinke 2021).
double rounded_norm(const DistributedNoise& noise);

/// How far a sum of so many discrete Gaussians is from one discrete Gaussian (their tau), for a deviation in steps:
/// 10 sum_{k=1}^{n-1} exp(-2 pi^2 deviation^2 k / (k + 1)).
double sum_of_discrete_gaussians_gap(double deviation, std::uint64_t shares);

/// Rényi divergence at an order above 1: of discrete Gaussian shares (Kairouz, Liu & Steinke 2021, proposition 14), and of Skellam shares
/// (Agarwal, Kairouz & Liu 2021; orders must be whole), whose sum is Skellam noise.
double discrete_gaussian_rdp(const DistributedNoise& noise, double order);
double skellam_rdp(const DistributedNoise& noise, double order);

}  // namespace fedstride
