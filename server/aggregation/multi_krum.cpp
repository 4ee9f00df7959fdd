#include "server/aggregation/multi_krum.hpp"

#include <algorithm>

namespace fedstride {

std::optional<Vector> MultiKrum::mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
  const Changes changes = changes_of(updates);
  const auto attackers = static_cast<std::size_t>(byzantine);
  const std::size_t most = changes.size() - attackers - 2;
  const std::size_t count = selected == 0 ? most : std::min(most, static_cast<std::size_t>(selected));
  std::vector<std::size_t> best = KrumScores(changes, attackers, for_each_piece).ranking();
  best.resize(count);
  std::vector<double> factors(changes.size());
  for (const std::size_t place : best) factors[place] = 1 / static_cast<double>(count);
  return linear_combination(changes, factors, for_each_piece);
}

}  // namespace fedstride
