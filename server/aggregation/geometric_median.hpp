#pragma once

#include <algorithm>
#include <cmath>

#include "server/aggregation.hpp"
#include "server/aggregation/distances.hpp"

namespace fedstride {

struct GeometricMedianSettings {
  int iterations = 3;
  double smoothing = 1e-6;
  static constexpr auto kFields = fields(
      Field{"iterations", &GeometricMedianSettings::iterations, "Weiszfeld steps, starting from the weighted mean", kAtLeastOne},
      Field{"smoothing", &GeometricMedianSettings::smoothing,
            "smallest distance (L2 norm) used for an update; nearer ones count as this far away", kPositive});
};

/// The geometric median (RFA; Pillutla, Kakade & Harchaoui 2022, Algorithm 2, smoothed Weiszfeld): starting from the weighted
/// mean z of the changes x_k, with clients' shares p_k of the total weight, repeats `iterations` times:
///   z <- sum of b_k x_k / sum of b_k,  b_k = p_k / max(smoothing, |x_k - z|)
/// Updates are weighted. Norms are L2, in units of a weight's change.
struct GeometricMedian final : PartBase<ComparingAggregation, GeometricMedian, GeometricMedianSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "geometric-median";
  static constexpr std::string_view kSummary = "geometric median by smoothed Weiszfeld steps (RFA; Pillutla et al. 2022)";

  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    const Changes changes = changes_of(updates);
    const std::vector<double> shares = shares_of(updates);
    Vector center = linear_combination(changes, shares, for_each_piece);
    std::vector<double> factors(changes.size());
    for (int step = 0; step < iterations; ++step) {
      in_pieces(changes.size(), for_each_piece, [&](std::size_t k) {
        factors[k] = shares[k] / std::max(smoothing, std::sqrt(squared_distance(changes[k], view(center))));
      });
      double sum = 0;
      for (const double factor : factors) sum += factor;
      for (double& factor : factors) factor /= sum;
      center = linear_combination(changes, factors, for_each_piece);
    }
    return center;
  }
};

}  // namespace fedstride
