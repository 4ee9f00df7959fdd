#pragma once

#include <cstdint>
#include <span>

#include "core/random.hpp"

namespace fedstride {

/// values[i] += scale x z(first + i), where z(0), z(1), ... are the standard normal draws at the address. z(j) depends only on
/// source, address and j, so any thread can compute any stretch, with the same bits. Requires first + values.size() <=
/// kMaxNormals.
///
/// z is the Box-Muller transform in single precision, which makes a pair of draws from two words of a block:
///   r = sqrt(-2 ln u),  z = r cos a, r sin a
/// u = (word + 1/2) 2^-32, with 32 more bits from block number + 2^31 if the word is below 2^18. Thus r reaches 9.49, and tails
/// are accurate beyond 8. The second word is the angle: bit 31 is the sign of the cosine, bit 30 tells whether cosine and sine
/// are then exchanged, and the other bits are a signed angle in (-pi/4, pi/4). Sixteen blocks of W words make 16 W normals: words
/// 2p and 2p + 1 of block i make the normals 32p + i and 32p + 16 + i. Use an address for add_normals or for a RandomStream, not
/// for both: they read the same words.
void add_normals(const RandomSource& source, const Address& address, std::uint64_t first, float scale, std::span<float> values);
inline constexpr std::uint64_t kMaxNormals = std::uint64_t{1} << 33;

}  // namespace fedstride
