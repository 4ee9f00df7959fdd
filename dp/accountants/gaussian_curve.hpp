#pragma once

#include <cstdint>

namespace fedstride {

/// The exact privacy curve of a Gaussian release (Balle, Wang 2018, the analytic Gaussian mechanism): `mu` is the distance
/// between the sums of neighbors / noise standard deviation. The bounds include rounding errors.
double gaussian_delta(double mu, double epsilon);  ///< never 0: if it would underflow, the smallest normal double
double gaussian_log_delta(double mu, double epsilon);
double gaussian_epsilon(double mu, double delta);

/// The probability that a standard normal number is below x.
double normal_below(double x);

/// A lower bound on the epsilon of one epoch of `lots` shuffled lots, at `delta`, add-remove (a record replaced by zero): an
/// accountant that claims a smaller epsilon is wrong. Chua et al. 2024: with every other record at -1 in one coordinate the
/// outputs are P = avg_t N(2 e_t, sigma^2), Q = avg_t N(e_t, sigma^2); the event that some coordinate exceeds C gives epsilon >=
/// ln((P - delta) / Q), at the best C. 0 if this shows nothing.
double shuffle_epsilon_lower_bound(double noise_multiplier, std::uint64_t lots, double delta);

}  // namespace fedstride
