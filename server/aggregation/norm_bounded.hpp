#pragma once

#include <algorithm>

#include "dp/noise/client_release.hpp"
#include "server/aggregation.hpp"
#include "server/aggregation/coordinates.hpp"

namespace fedstride {

struct NormBoundedSettings {
  double norm_bound = 0;
  static constexpr auto kFields = fields(
      Field{"norm-bound", &NormBoundedSettings::norm_bound,
            "largest L2 norm of an update; longer ones are scaled down; 0: the median of the round's norms", kNonNegative});
};

/// The weighted mean of updates scaled down to an L2 norm of at most norm-bound (Sun, Kairouz, Suresh & McMahan 2019, "Can you
/// really backdoor federated learning?", section 3) or, if norm-bound is 0, the median of the round's norms. Longer
/// updates keep their direction. Updates are weighted. The paper's second defense, noise, is not included.
struct NormBounded final : PartBase<ComparingAggregation, NormBounded, NormBoundedSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "norm-bounded";
  static constexpr std::string_view kSummary = "the weighted mean of updates with bounded norms (Sun et al. 2019)";

  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    const Changes changes = changes_of(updates);
    std::vector<double> norms(changes.size());
    in_pieces(changes.size(), for_each_piece, [&](std::size_t k) { norms[k] = l2_norm(changes[k]); });
    const double bound = norm_bound > 0 ? norm_bound : median_norm(norms);
    std::vector<double> factors = shares_of(updates);
    for (std::size_t k = 0; k < factors.size(); ++k)
      if (norms[k] > bound) factors[k] *= bound / norms[k];
    return linear_combination(changes, factors, for_each_piece);
  }

 private:
  static double median_norm(std::vector<double> norms) {
    std::ranges::sort(norms);
    return (norms[(norms.size() - 1) / 2] + norms[norms.size() / 2]) / 2;
  }
};

}  // namespace fedstride
