#pragma once

#include "core/pooled_statistic.hpp"
#include "sim/prepare/setup.hpp"

namespace fedstride {

/// Returns the noise of a round's lots under example- or user-level privacy, computed from public facts; empty without such
/// privacy. For b records per lot on average, clip bound C and noise multiplier z, the noise on each of the d trained parameters
/// has standard deviation z C / b, with a larger z if the lot's count is released with it. Half the difference between two lots' gradients then has mean square d (z C / b)^2 / 2 from
/// noise and at most (C^2 / b) / 2 from the choice of records. Both are means over all clients' lots of the round, as if every
/// client took part.
LotNoise lot_noise(const Setup& setup);

}  // namespace fedstride
