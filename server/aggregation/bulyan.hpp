#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "server/aggregation/krum_scores.hpp"

namespace fedstride {

/// Bulyan over Krum (El Mhamdi, Guerraoui & Rouault 2018, section 4), for n updates and at most f = byzantine attackers,
/// n >= 4 f + 3. First theta = n - 2 f updates are selected, one after the other: Krum takes the best of those not yet selected,
/// r of them, by scores among themselves alone, over r - f - 2 neighbours (at least one: the last r is 2 f + 1, which Krum was
/// not made for). Then each parameter's change is the mean of the theta - 2 f selected values nearest to their median, which is
/// one of them, the smaller of the two middle ones. The smaller of two values equally near is taken. Weights do not count.
struct Bulyan {
  int byzantine = 1;

  static constexpr std::string_view kName = "bulyan";
  static constexpr std::string_view kSummary = "repeated Krum, then a mean around the median (El Mhamdi et al. 2018)";
  static constexpr auto kFields = std::tuple{Field{"byzantine", &Bulyan::byzantine, kByzantineHelp, kNonNegative}};

  std::size_t least_updates() const { return 4 * static_cast<std::size_t>(byzantine) + 3; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const;
};

}  // namespace fedstride
