#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

/// The geometric median (RFA; Pillutla, Kakade & Harchaoui 2022, Algorithm 2, smoothed Weiszfeld): from the weighted mean z of the
/// changes x_k, with p_k the clients' shares of all weights,
///   z <- sum of b_k x_k / sum of b_k,  b_k = p_k / max(smoothing, |x_k - z|)
/// so many times. Weights count. Norms are L2, in units of a weight's change.
struct GeometricMedian {
  int iterations = 3;
  double smoothing = 1e-6;

  static constexpr std::string_view kName = "geometric-median";
  static constexpr std::string_view kSummary = "geometric median by smoothed Weiszfeld steps (RFA, Pillutla et al. 2022)";
  static constexpr auto kFields = std::tuple{
      Field{"iterations", &GeometricMedian::iterations, "Weiszfeld steps, beginning at the weighted mean", kAtLeastOne},
      Field{"smoothing", &GeometricMedian::smoothing, "an update nearer than this (an L2 norm) counts as if it were so far away",
            kPositive}};

  static std::size_t least_updates() { return 1; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const;
};

}  // namespace fedstride
