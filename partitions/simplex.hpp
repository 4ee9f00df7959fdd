#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/random.hpp"

namespace fedstride {

/// Help texts of settings shared by several partitions: the help shows each setting once.
inline constexpr std::string_view kAlphaHelp =
    "concentration; small: each client holds few classes, large: all clients have similar class mixes";
inline constexpr std::string_view kSizeAlphaHelp =
    "concentration of client sizes (NIID-Bench's beta); small: few clients hold most rows, large: sizes are nearly equal";

/// The logarithms of independent Gamma(concentration) draws; exponentiated and normalized, they are a draw from the Dirichlet
/// distribution. Logarithms are used because, for small concentrations, all but the largest draw underflow: as the concentration
/// goes to 0, the normalized draw tends to a corner, never to 0/0. Concentrations are clamped to [1e-300, 1e15]: beyond these
/// bounds, draws equal a corner of the simplex, or the mean, to more digits than any number of rows can show.
std::vector<double> log_gammas(std::span<const double> concentrations, RandomStream& random);

/// exp(logs), scaled to sum to 1; an entry of -infinity becomes 0. At least one entry must be finite.
std::vector<double> normalized(std::span<const double> logs);

}  // namespace fedstride
