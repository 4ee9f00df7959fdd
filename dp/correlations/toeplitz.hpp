#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fedstride {

// Matrix mechanisms for the prefix sums A x of a run's releases: A = B C, where C is lower triangular Toeplitz, given by its
// first column c. A mechanism publishes B (C x + z) or, step by step as here, x + C^-1 z: each release's noise is correlated with
// earlier noise. The mechanism costs as much as one Gaussian release of sensitivity sens(C) (Denisov et al. 2022); its largest
// error is sqrt(sum of squares of B's first column).

/// The optimal coefficients for one participation: c_k = c_{k-1} (2k - 1) / (2k), so B = C = A^{1/2} (Fichtenberger, Henzinger &
/// Upadhyay 2023).
std::vector<double> optimal_toeplitz(std::size_t steps);

/// The coefficients of C with this many bands, c_0 = 1, that minimize sens(C) x the largest error over this many steps if no
/// record takes part twice within `bands` steps. Each participation then adds |c|^2 to the squared sensitivity, so the minimum is
/// the same for any number of participations. With one band, the only coefficient is 1: independent noise.
std::vector<double> optimal_banded_toeplitz(std::size_t bands, std::size_t steps);

/// The noise coefficients: the first `steps` coefficients of the power series 1 / c, where c[0] > 0. Takes O(steps x
/// coefficients) time.
std::vector<double> inverse_series(std::span<const double> coefficients, std::size_t steps);

/// The standard deviation of the error of the last prefix sum, which is the largest, for noise of standard deviation 1.
double largest_prefix_error(std::span<const double> coefficients, std::size_t steps);

}  // namespace fedstride
