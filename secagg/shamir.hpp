#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "secagg/primitives.hpp"

namespace fedstride::secagg {

inline constexpr unsigned kMostShares = 255;  ///< points 1 to 255 of GF(2^8)

struct Share {
  std::uint8_t point = 0;
  Secret value = {};
};

/// Shamir's secret sharing (1979) of 32 bytes, each byte over GF(2^8) modulo x^8 + x^4 + x^3 + x + 1: returns the shares at
/// points 1 to `count`. Any `threshold` of them reveal the secret; fewer reveal nothing. Coefficients are the key stream of
/// `randomness`, which must be used only once. No branch or address depends on a secret. Requires 1 <= threshold <= count <=
/// kMostShares.
std::vector<Share> split_secret(const Secret& secret, unsigned threshold, unsigned count, const Secret& randomness);

/// The value at 0 of the least-degree polynomial through the shares, whose points must be distinct and not 0.
Secret recovered(std::span<const Share> shares);

/// The product in GF(2^8) modulo the same polynomial.
std::uint8_t field_product(std::uint8_t a, std::uint8_t b);

}  // namespace fedstride::secagg
