#pragma once

#include <span>
#include <vector>

namespace fedstride {

/// Upper bound on the Rényi divergence, at each order above 1, of a Gaussian sum over a share `rate` of the records drawn
/// without replacement, for replace-one neighbours; `sigma` is noise standard deviation / distance between the sums of
/// neighbours (twice the clip bound). Wang, Balle, Kasiviswanathan 2019, Theorem 27, and never more than the value
/// without sampling. Orders between whole ones: (a - 1) times the divergence is convex in a, so a chord lies above.
std::vector<double> without_replacement_rdp(double rate, double sigma, std::span<const double> orders);

}  // namespace fedstride
