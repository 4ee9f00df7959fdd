#pragma once

#include <cstdint>

namespace fedstride {

/// The exact privacy curve of a Gaussian release (Balle, Wang 2018, the analytic Gaussian mechanism): `mu` is the distance
/// between the sums of neighbors divided by the noise standard deviation. The values are rounded up by more than all rounding
/// errors.
double gaussian_delta(double mu, double epsilon);  ///< never 0: the smallest normal double on underflow
double gaussian_log_delta(double mu, double epsilon);
double gaussian_epsilon(double mu, double delta);

/// The probability that a standard normal variable is below x.
double normal_below(double x);

/// A lower bound on the epsilon, for a given `delta`, of one epoch of `lots` shuffled lots under add-remove (a record replaced by
/// zero); an accountant that claims less is wrong. If every other record contributes -1 in one coordinate, the outputs are P =
/// avg_t N(2 e_t, sigma^2), Q = avg_t N(e_t, sigma^2) (Chua et al. 2024). The event that some coordinate exceeds C proves epsilon
/// >= ln((P - delta) / Q); the best threshold C is used. Returns 0 if this proves nothing.
double shuffle_epsilon_lower_bound(double noise_multiplier, std::uint64_t lots, double delta);

}  // namespace fedstride
