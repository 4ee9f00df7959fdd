#pragma once

#include <string>

#include "sim/prepare/setup.hpp"

namespace fedstride {

/// The standard deviation of the noise in one coordinate of a round's mean update, regardless of who adds it: all inputs are
/// public.
double mean_noise(const Setup& setup);

/// The first rate G of server schedule 'noise', which falls linearly to 0 over the R planned rounds. The noise of all rounds then
/// moves the d trained weights by b / sqrt(2) times their initial norm, where b is server-noise-factor:
///
///     G = min(b |x_0| sqrt(3 / (2 R)) / (tau sqrt(d)), L / C),    L = 0.21 d^(1/4)
///
/// with tau = mean_noise() and C the bound on an update. Noise correlated between rounds moves the weights by less or more, in
/// the ratio of |C^-T f| to |f| for the sequence f of rates; the first argument of min is divided by this ratio. L bounds the
/// step of the signal if there is little noise. Throws Error (usage) if |x_0| is 0.
double noise_rate(const Setup& setup);

/// The rate in words, as a constant assumed public by the guarantee.
std::string noise_rate_text(const Setup& setup);

}  // namespace fedstride
