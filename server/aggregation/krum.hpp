#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "server/aggregation/krum_scores.hpp"

namespace fedstride {

/// Krum (Blanchard, El Mhamdi, Guerraoui & Stainer 2017, section 4): the one update with the smallest sum of squared distances to
/// its n - f - 2 nearest others, for n updates and at most f = byzantine attackers; n >= 2 f + 3. Equal sums: the smaller client.
/// Weights do not count.
struct Krum {
  int byzantine = 1;

  static constexpr std::string_view kName = "krum";
  static constexpr std::string_view kSummary = "the update nearest to its neighbours (Blanchard et al. 2017)";
  static constexpr auto kFields = std::tuple{Field{"byzantine", &Krum::byzantine, kByzantineHelp, kNonNegative}};

  std::size_t least_updates() const { return krum_needs(byzantine); }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const;
};

}  // namespace fedstride
