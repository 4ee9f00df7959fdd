#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/choice.hpp"
#include "core/term.hpp"
#include "dp/correlations/correlations.hpp"
#include "dp/draws/draws.hpp"
#include "dp/laws/laws.hpp"

namespace fedstride {

/// Noise shares, on a grid, that the owners of records add themselves.
struct NoiseShares {
  double step = 0;              ///< grid step / clip bound
  std::uint64_t dimension = 0;  ///< components of a vector
  std::uint64_t count = 0;      ///< shares certain to be in the sum and known only to their owners
  auto operator<=>(const NoiseShares&) const = default;

  static constexpr auto kTerms =
      terms(Term{"step", &NoiseShares::step}, Term{"dimension", &NoiseShares::dimension}, Term{"count", &NoiseShares::count});
};

/// The largest distance between the sums of one release on neighboring data sets, in multiples of the clip bound.
constexpr double distance_between(Neighbours neighbours) { return neighbours == Neighbours::replace_one ? 2 : 1; }

/// `count` releases of a noisy clipped sum that are equal in everything that accountants use.
struct Releases {
  Sampling sampling = Sampling::poisson;
  Neighbours neighbours = Neighbours::add_remove;
  double rate = 1;              ///< in (0, 1]; 1 if sampling is full
  double noise_multiplier = 1;  ///< noise standard deviation / clip bound of one record, for every neighbor relation
  std::uint64_t count = 1;
  std::uint64_t passes = 0;  ///< for draws with passes: maximum number of releases with one record (one per epoch)
  bool adaptive = false;     ///< noise or rate was chosen after looking at earlier outputs
  NoiseLaw law = NoiseLaw::gaussian;
  NoiseShares shares = {};  ///< for non-Gaussian laws; the noise multiplier refers to the sum of the shares
  Correlation correlation = {};
  std::uint64_t rounds = 0;  ///< if correlated: number of rounds up to the last release; determines the cost instead of `count`
  std::uint64_t most = 0;    ///< if correlated: maximum number of releases with one record; 0: as many as the separation allows
  /// For full and Poisson sampling: maximum number of rows per record; each is drawn independently and moves the sum by
  /// at most the clip bound.
  std::uint64_t rows = 1;
  bool operator==(const Releases&) const = default;

  /// The terms of a release that ledgers record. The other fields follow from a run's releases or their order.
  static constexpr auto kTerms =
      terms(Term{"sampling", &Releases::sampling}, Term{"neighbours", &Releases::neighbours}, Term{"rate", &Releases::rate},
            Term{"passes", &Releases::passes}, Term{"adaptive", &Releases::adaptive}, Term{"law", &Releases::law},
            Term{"shares", &Releases::shares}, Term{"correlation", &Releases::correlation}, Term{"rows", &Releases::rows});
};

inline constexpr std::uint64_t kMaxRowsOfRecord = 1000;

/// One of these releases, in the form that its noise law uses.
inline DistributedNoise distributed_noise(const Releases& release) {
  const std::uint64_t shares = std::max<std::uint64_t>(release.shares.count, 1);
  return {.step = release.shares.step,
          .local_deviation = release.noise_multiplier / std::sqrt(static_cast<double>(shares)),
          .shares = shares,
          .clip = 1,
          .dimension = release.shares.dimension,
          .distance = distance_between(release.neighbours) * static_cast<double>(release.rows)};
}

/// The releases that one record (or client) was exposed to; their order may be lost.
using Spending = std::vector<Releases>;

/// The number of lots per epoch at this rate, at least 1.
std::uint64_t lots_an_epoch(double rate);
/// The number of epochs that this many lots span; the last epoch may be partial.
inline std::uint64_t epochs_of(std::uint64_t lots, double rate) { return (lots + lots_an_epoch(rate) - 1) / lots_an_epoch(rate); }

inline std::string_view name_of(Sampling sampling) { return choice_name(sampling); }
inline std::string_view name_of(Neighbours neighbours) { return choice_name(neighbours); }
/// Throw Error (usage) for an unknown name, listing the choices.
inline Sampling sampling_named(std::string_view name) { return make_choice<Sampling>("sampling", name); }
inline Neighbours neighbours_named(std::string_view name) { return make_choice<Neighbours>("neighbours", name); }

}  // namespace fedstride
