#pragma once

#include <string>

#include "sim/prepare/setup.hpp"

namespace fedstride {

/// The server's learning rate G in the first round of server schedule 'noise'; it falls linearly to 0 over the R planned rounds:
///
///     G = min(b |x_0| sqrt(3 / (2 R)) / (tau sqrt(d)), L / C),    L = 0.21 d^(1/4)
///
/// with b = server-noise-factor (a third of it with `start learned`), x_0 the d initial weights that are trained (with `start
/// learned` those that would have been drawn), tau = mean_noise() and C the bound on an update.
/// With the first argument of min, the noise of all rounds moves the weights by b / sqrt(2) times |x_0|. If noise is correlated
/// between rounds, that argument is divided by combined_deviation(f) / |f| for the sequence f of rates, the factor by which such
/// noise moves the weights less or more. L bounds the signal's step if there is little noise. Throws Error (usage) if |x_0| is 0
/// or not finite.
double noise_rate(const Setup& setup);

/// Describes the rate in words, as a constant that the guarantee assumes to be public.
std::string noise_rate_text(const Setup& setup);

}  // namespace fedstride
