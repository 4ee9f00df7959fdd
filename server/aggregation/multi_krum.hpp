#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "server/aggregation/krum_scores.hpp"

namespace fedstride {

/// Multi-Krum (Blanchard, El Mhamdi, Guerraoui & Stainer 2017, section 4): the mean of the m = selected updates with the best
/// scores, all scored once as Krum does; n >= 2 f + 3 and m <= n - f - 2. Equal scores: the smaller client. Weights do not count.
struct MultiKrum {
  int byzantine = 1;
  int selected = 0;

  static constexpr std::string_view kName = "multi-krum";
  static constexpr std::string_view kSummary = "the mean of the updates nearest to their neighbours (Blanchard et al. 2017)";
  static constexpr auto kFields = std::tuple{
      Field{"byzantine", &MultiKrum::byzantine, kByzantineHelp, kNonNegative},
      Field{"selected", &MultiKrum::selected,
            "updates that are averaged, at most n - f - 2 of a round's n: more are cut to that, and 0 means that", kNonNegative}};

  std::size_t least_updates() const { return krum_needs(byzantine); }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const;
};

}  // namespace fedstride
