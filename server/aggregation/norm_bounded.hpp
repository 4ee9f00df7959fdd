#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

/// The weighted mean of updates that are scaled down to an L2 norm of at most norm-bound (Sun, Kairouz, Suresh & McMahan 2019,
/// "Can you really backdoor federated learning?", section 3), or, with 0, of at most the median of the round's norms. Longer
/// updates keep their direction. Weights count. Without the noise of the paper's second defence.
struct NormBounded {
  double norm_bound = 0;

  static constexpr std::string_view kName = "norm-bounded";
  static constexpr std::string_view kSummary = "the weighted mean of updates of bounded norm (Sun et al. 2019)";
  static constexpr auto kFields =
      std::tuple{Field{"norm-bound", &NormBounded::norm_bound,
                       "L2 norm that longer updates are scaled down to; 0: the median of a round's norms", kNonNegative}};

  static std::size_t least_updates() { return 1; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const;
};

}  // namespace fedstride
