#pragma once

#include <string>

#include "sim/prepare/setup.hpp"

namespace fedstride {

/// The standard deviation of the noise in one coordinate of a round's mean update, regardless of who adds it. Uses only public
/// inputs.
double mean_noise(const Setup& setup);

/// The first rate G of server schedule 'noise', which falls linearly to 0 over the R planned rounds. The noise of all rounds then
/// moves the d trained weights by b / sqrt(2) times their initial norm, where b is server-noise-factor:
///
///     G = min(b |x_0| sqrt(3 / (2 R)) / (tau sqrt(d)), L / C),    L = 0.21 d^(1/4)
///
/// with tau = mean_noise() and C the bound on an update. Noise correlated between rounds moves the weights less or more, by the
/// factor combined_deviation(f) / |f| for the sequence f of rates; the first argument of min is divided by this factor. L bounds
/// the signal's step if there is little noise. Throws Error (usage) if |x_0| is 0 or not finite.
double noise_rate(const Setup& setup);

/// Describes the rate in words, as a constant that the guarantee assumes to be public.
std::string noise_rate_text(const Setup& setup);

}  // namespace fedstride
