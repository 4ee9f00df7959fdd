#pragma once

#include <span>
#include <vector>

#include "core/random.hpp"

namespace fedstride {

/// The logarithms of independent Gamma(concentration) draws: once normalised, a draw from the Dirichlet distribution.
/// They are logarithms because for small concentrations all but the largest draw underflow: as the concentration goes to 0 the
/// normalised draw goes to a corner, never to 0/0. Concentrations are used within [1e-300, 1e15]: beyond them the law
/// is a corner, or its mean, to more digits than there are rows.
std::vector<double> log_gammas(std::span<const double> concentrations, RandomStream& random);

/// exp(logs) scaled to sum 1; entries of -infinity stay 0. At least one must be finite.
std::vector<double> normalised(std::span<const double> logs);

}  // namespace fedstride
