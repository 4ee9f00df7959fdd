#pragma once

#include <cstdint>
#include <span>

#include "core/random.hpp"

namespace fedstride {

/// values[i] += scale x z(first + i), where z(0), z(1), ... are the standard normal draws of the address, z(j) a
/// function only of source, address and j: any thread can compute any stretch, with the same bits.
/// first + values.size() <= kMaxNormals.
///
/// z is Box and Muller's transform in single precision, a pair from two words of a block:
///   r = sqrt(-2 ln u),  z = r cos a, r sin a
/// u = (word + 1/2) 2^-32, with 32 bits more from block number + 2^31 where the word is below 2^18: r reaches 9.4 and
/// tails are accurate beyond 8. The second word is the angle: bit 31 the sign of the cosine, bit 30 whether cosine and
/// sine are then exchanged, the others are a signed angle in (-pi/4, pi/4). Sixteen blocks of W words make 16 W normals:
/// words 2p and 2p + 1 of block i the normals 32p + i and 32p + 16 + i. An address serves add_normals or a RandomStream,
/// not both: they read the same words.
void add_normals(const RandomSource& source, const Address& address, std::uint64_t first, float scale, std::span<float> values);
inline constexpr std::uint64_t kMaxNormals = std::uint64_t{1} << 33;

}  // namespace fedstride
