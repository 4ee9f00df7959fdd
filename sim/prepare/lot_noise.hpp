#pragma once

#include <cstdint>
#include <functional>

#include "core/pooled_statistic.hpp"
#include "sim/prepare/setup.hpp"

namespace fedstride {

/// The noise of a round's lots under example- or user-level privacy, computed from public facts; empty without such privacy. A
/// lot of b records on average, clip bound C and noise multiplier z puts z C / b on each of the d trained numbers, so that half
/// the difference of two lots' gradients has mean square d (z C / b)^2 / 2 of noise and at most (C^2 / b) / 2 from the choice
/// of records. Both are means over all clients' lots of the round, as if each client took part.
std::function<KnownNoise(std::uint32_t round)> lot_noise(const Setup& setup);

}  // namespace fedstride
