#pragma once

namespace fedstride {

/// The exact privacy curve of a Gaussian release (Balle, Wang 2018, the analytic Gaussian mechanism): `mu` is the
/// distance between the sums of neighbours / noise standard deviation. The bound includes rounding errors.
double gaussian_delta(double mu, double epsilon);  ///< never 0: where it would underflow, the smallest normal double
double gaussian_log_delta(double mu, double epsilon);
double gaussian_epsilon(double mu, double delta);

}  // namespace fedstride
