#pragma once

#include <cstdint>

namespace fedstride {

/// The exact privacy curve of a Gaussian release (Balle, Wang 2018, the analytic Gaussian mechanism): `mu` is the distance
/// between the sums of neighbors / noise standard deviation. The bounds allow for rounding errors.
double gaussian_delta(double mu, double epsilon);  ///< never 0: the smallest normal double on underflow
double gaussian_log_delta(double mu, double epsilon);
double gaussian_epsilon(double mu, double delta);

/// The probability that a standard normal number is below x.
double normal_below(double x);

/// A lower bound on the epsilon, for a given `delta`, of one epoch of `lots` shuffled lots under add-remove (a record replaced by
/// zero): an accountant that claims less is wrong. Chua et al. 2024: with every other record at -1 in one coordinate, the outputs
/// are P = avg_t N(2 e_t, sigma^2), Q = avg_t N(e_t, sigma^2); the event that some coordinate exceeds C gives epsilon >= ln((P -
/// delta) / Q), for the best C. Returns 0 if this proves nothing.
double shuffle_epsilon_lower_bound(double noise_multiplier, std::uint64_t lots, double delta);

}  // namespace fedstride
