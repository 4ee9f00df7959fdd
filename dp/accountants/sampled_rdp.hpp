#pragma once

#include <span>
#include <vector>

#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// ln(exp(a) + exp(b)) without overflow.
double log_add(double a, double b);
/// ln(n!) for n up to kMaxClosedOrder.
inline constexpr int kMaxClosedOrder = 16384;
double log_factorial(int n);

/// The Rényi divergence, at each order above 1, of one Poisson-sampled Gaussian sum: rate in (0, 1), noise standard deviation
/// `sigma` for records of norm at most 1. Returns the larger of the divergences in the two directions.
///   add_remove   E_Q[(P/Q)^a], P = (1-q) N(0) + q N(1), Q = N(0) (Mironov, Talwar, Zhang 2019); whole orders up to
///                kMaxClosedOrder by the binomial sum, relative error below 1e-9; others by quadrature, below 1e-7
///   replace_one  P = (1-q) N(0) + q N(1), Q = (1-q) N(0) + q N(-1), by quadrature; both directions are equal
/// If a quadrature would need more than about 16,000 points (little noise, high orders), the result is an upper bound instead:
/// ln(1 - q + q exp(a(a-1) d^2 / 2 sigma^2)) / (a-1), d = 1 or 2, as if each release revealed which records it drew. There, the
/// bound exceeds the divergence only by ln(1/q) / (a-1) and similar terms.
std::vector<double> poisson_rdp(double rate, double sigma, Neighbours neighbours, std::span<const double> orders);
/// False if poisson_rdp() returns the upper bound.
bool is_poisson_rdp_exact(double sigma, Neighbours neighbours, double order);

/// An upper bound on the Rényi divergence, at each order above 1, of a Gaussian sum over a share `rate` of the records, drawn
/// without replacement, for replace-one neighbors. `sigma` is the noise standard deviation / the distance between the sums of
/// neighbors (twice the clip bound). Wang, Balle, Kasiviswanathan 2019, Theorem 27, capped at the value without sampling. For
/// fractional orders, (a - 1) times the divergence is convex in a, so a chord between whole orders is an upper bound.
std::vector<double> without_replacement_rdp(double rate, double sigma, std::span<const double> orders);

}  // namespace fedstride
