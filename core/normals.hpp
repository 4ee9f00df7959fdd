#pragma once

#include <cstdint>
#include <span>

#include "core/random.hpp"

namespace fedstride {

/// values[i] += scale x z(first + i), where z(0), z(1), ... are the standard normal draws of the address, z(j) a function
/// of source, address and j alone: any thread can do any stretch, with the same bits. first + values.size() <= 2^33.
///
/// z is Box and Muller's transform in single precision, each pair from two words of the address:
///   r = sqrt(-2 ln u),  z = r cos(2 pi v), r sin(2 pi v)
/// u has 32 bits and, where it is below 2^-14, 32 more, so that r reaches 9.4 and tails are right beyond 8. An address
/// serves add_normals or a RandomStream, not both: they read the same words. The bits are the same for one build on one
/// kind of processor.
void add_normals(const RandomSource& source, const Address& address, std::uint64_t first, float scale,
                 std::span<float> values);

}  // namespace fedstride
