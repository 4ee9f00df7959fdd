#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "client/compression/draws.hpp"

namespace fedstride {

/// Rounds at most Draws::kAtOnce numbers to multiples of the grid, m or m + 1 grids with m = floor(x / grid), the second one with
/// probability x / grid - m; beyond 2^30 grids to these. 0, -1, 1, -2, ... are folded to 0, 1, 2, 3, ...; returns all bits set in any.
std::uint32_t fold_multiples(std::span<const float> numbers, const std::array<std::uint32_t, Draws::kAtOnce>& words, float grid,
                             std::uint32_t* folded);

}  // namespace fedstride
