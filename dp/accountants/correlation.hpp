#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "dp/accountants/buffered_toeplitz.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

// What noise costs that is correlated from round to round. Round t publishes x_t + (C^-1 Z)_t, from which C x + Z follows and the other
// way around: one Gaussian release of sensitivity sens(C), also if x_t depends on what was published before (Denisov et al. 2022). C is
// lower triangular, so the first t rounds are a release of its upper left corner.

/// The best coefficients for this many rounds; `buffers` for blt. Banded noise has as many bands as the separation, so that a record's
/// columns of C are orthogonal; one band is independent noise. Throws Error (usage) for numbers out of range.
Correlation plan_correlation(NoiseMechanism mechanism, std::uint64_t separation, std::uint64_t horizon, std::size_t buffers = 4,
                             std::uint64_t restart = 0);

/// The reason why nothing can be accounted by it, one line; empty if all is well.
std::string objection(const Correlation& correlation);

/// Vectors as long as the model that its noise needs from round to round.
std::size_t kept_vectors(const Correlation& correlation);
BufferedToeplitz buffered_of(const Correlation& correlation);

/// The most that the noise-free part of the releases of the first `rounds` rounds moves, for clip 1, rounded up, if a record is in at
/// most `most` of them; 0: in as many as the separation allows.
double correlated_sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most = 0);

/// True if sampling within the groups that a separation makes amplifies (Choquette-Choo et al. 2023, Theorem 1).
inline bool is_amplified_in_groups(const Correlation& correlation) {
  return correlation.mechanism == NoiseMechanism::independent || correlation.mechanism == NoiseMechanism::banded;
}

bool is_correlated(std::span<const Releases> spending);
/// Each correlated release as independent ones of the same cost: a single one at noise multiplier / sensitivity, or, of noise that is
/// amplified, one for each round of a record's group at noise multiplier / |c|.
Spending without_correlation(std::span<const Releases> spending);

/// `release` as those of the first `rounds` rounds, at most `most` of which have one record; 0: as many as the separation allows.
Releases of_rounds(Releases release, std::uint64_t rounds, std::uint64_t most = 0);

}  // namespace fedstride
