#include "server/aggregation/krum.hpp"

namespace fedstride {

std::optional<Vector> Krum::mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
  const Changes changes = changes_of(updates);
  return Vector(changes[KrumScores(changes, static_cast<std::size_t>(byzantine), for_each_piece).take_best()]);
}

}  // namespace fedstride
