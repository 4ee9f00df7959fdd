#pragma once

#include <span>
#include <vector>

#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// ln(exp(a) + exp(b)) without overflow.
double log_add(double a, double b);
/// ln(n!) for n up to kMaxClosedOrder, and ln(n over k).
inline constexpr int kMaxClosedOrder = 16384;
double log_factorial(int n);
double log_choose(int n, int k);

/// Rényi divergence, at each order above 1, of one Poisson-sampled Gaussian sum: rate in (0, 1), noise standard deviation
/// `sigma` for records of norm at most 1. The larger of both directions.
///   add_remove   E_Q[(P/Q)^a], P = (1-q) N(0) + q N(1), Q = N(0) (Mironov, Talwar, Zhang 2019); whole orders up to
///                kMaxClosedOrder by the binomial sum, relative error below 1e-9; others by quadrature, below 1e-7
///   replace_one  P = (1-q) N(0) + q N(1), Q = (1-q) N(0) + q N(-1), by quadrature; both directions are equal
std::vector<double> poisson_rdp(double rate, double sigma, Neighbours neighbours, std::span<const double> orders);

}  // namespace fedstride
