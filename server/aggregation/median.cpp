#include "server/aggregation/median.hpp"

#include "server/aggregation/coordinates.hpp"

namespace fedstride {

std::optional<Vector> Median::mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
  return coordinate_median(changes_of(updates), for_each_piece);
}

}  // namespace fedstride
