#pragma once

#include <cstdint>

#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// A release of the sum of clients' vectors to which each client has added a share of discrete noise, for zero-out or replace-one
/// neighbors.
struct DistributedNoise {
  double step = 0;             ///< of the grid to which vectors are rounded (gamma)
  double local_deviation = 0;  ///< of the noise that a client adds, in the vectors' unit
  std::uint64_t shares = 0;    ///< of noise that is certainly in the sum and known to nobody: survivors less colluders
  double clip = 0;             ///< L2 norm of a vector before rounding
  std::uint64_t dimension = 0;
  double distance = 1;  ///< the most that a neighbor moves the sum, in rounded vectors: 2 for replace-one
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

/// The release that an accountant sees, of whatever unit. Requires another law than the Gaussian.
DistributedNoise distributed_noise(const Releases& release);
/// The divergence of that release at any order above 1. (a - 1) times it is convex in a, so a chord between whole orders bounds it.
double distributed_rdp(const Releases& release, double order);

/// A Gaussian release that discrete Gaussian shares cost no more than: their outcomes' probabilities are, up to a factor of at most
/// e^log_factor, those of a Gaussian sum whose components are rounded at random. A Gaussian of variance s^2 - r^2, each component x of
/// which is replaced by an integer k with probability proportional to exp(-(k - x)^2 / (2 r^2)), is a discrete Gaussian of variance s^2
/// but for the factor that makes these probabilities add up to 1, which is from 1 - e to 1 + e, e = 2 sum_{k>0} exp(-2 pi^2 r^2 k^2)
/// (Poisson's summation); and a sum of discrete Gaussians is one up to the factor exp(tau), tau as above.
struct GaussianLike {
  double noise_multiplier = 0;
  double log_factor = 0;  ///< of one release
};
GaussianLike gaussian_like(const Releases& release);

}  // namespace fedstride
