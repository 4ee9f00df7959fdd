#pragma once

#include "dp/draws/draw.hpp"

namespace fedstride {

/// Balls-in-bins sampling (Chua et al. 2024): once per epoch, each record is in one of b = 1 / rate lots, which is drawn
/// uniformly and independently and is the same in every epoch. Covers add-remove and zero-out neighbors (the divisor is a public
/// constant). E epochs with the same bins cost as much as one with noise z / sqrt(E); the dominating pair is P = (1/b) sum_j
/// N(e_j, z^2 I) against Q = N(0, z^2 I) in b dimensions, in both directions.
struct BallsInBins final : Draw {
  static constexpr std::string_view kName = "balls-in-bins";
  /// b is 1 / the requested rate, rounded to a multiple of the lots read per step.
  LotSize fitted(LotSize wanted, std::size_t records, std::uint64_t lots_per_step) const override;
  /// Lot t of the run, from 0, is bin t mod b.
  Lots lots(const LotQuestion& question) const override;
  std::string wrong_rate(double rate) const override;
  std::uint64_t passes(std::uint64_t count, int epochs, double rate) const override;
  bool has_bound(Neighbours neighbours) const override { return neighbours != Neighbours::replace_one; }
  bool grows_with_rate() const override { return false; }
  bool has_curve() const override { return true; }
  /// Noise multiplier / sqrt(passes) must be in [0.1, 1e4], and 1 <= lots <= 1e6. The time falls with the square of
  /// `coarseness`.
  std::unique_ptr<const DrawCurve> curve(double noise_multiplier, std::uint64_t lots, std::uint64_t passes,
                                         double coarseness) const override;
  std::string text(double rate) const override;
  std::string assumption(std::string_view record, std::uint64_t passes) const override;
  std::string cohort_assumption(std::uint64_t passes) const override;
};

}  // namespace fedstride
