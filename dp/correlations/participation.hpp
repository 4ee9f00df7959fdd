#pragma once

#include <cstddef>
#include <span>

namespace fedstride {

/// When a record takes part in a run's releases: any two of its rounds are at least `separation` apart.
struct Participation {
  std::size_t separation = 1;
  std::size_t most = 0;  ///< maximum number of a record's rounds; 0: as many as fit
};

/// The maximum number of rounds that a record can take part in.
std::size_t most_participations(std::size_t steps, const Participation& participation);

/// The largest sum of values at positions at least `separation` apart, at most `most` of them: F[i, k] = max(x_i + F[i + b, k-1],
/// F[i+1, k]). The values must not be negative.
double largest_separated_sum(std::span<const double> values, const Participation& participation);

/// The largest change of C x (in Frobenius norm) when a record's contributions of norm at most 1, in any directions, are added to
/// rows of x at the times of one allowed pattern.
struct Sensitivity {
  double value = 0;
  bool exact = false;  ///< false: an upper bound
};

/// The sensitivity of a lower triangular C with `steps` rows and columns, given row by row. Columns at least as far apart as C
/// has bands are orthogonal, so their squared norms add up: the result is exact if the separation is at least the number of
/// bands. Otherwise it is a bound: contributions in any directions move C x by at most sqrt(sum over pairs of |(C^T C)_ij|),
/// which dynamic programming over rows bounds for all patterns at once. Throws Error (usage) unless C is finite, lower triangular
/// and has at most 1024 steps.
Sensitivity matrix_sensitivity(std::span<const double> matrix, std::size_t steps, const Participation& participation);

/// The sensitivity of the Toeplitz matrix with this first column (shorter columns continue with zeros). Exact if the separation
/// is at least the number of bands, and for nonnegative coefficients that never rise, whose worst pattern is the earliest rounds
/// exactly `separation` apart (Kalinin & Lampert 2024, Theorem 2). Otherwise it is a bound, as above.
Sensitivity toeplitz_sensitivity(std::span<const double> coefficients, std::size_t steps, const Participation& participation);

}  // namespace fedstride
