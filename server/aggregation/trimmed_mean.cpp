#include "server/aggregation/trimmed_mean.hpp"

#include <algorithm>
#include <cmath>

#include "server/aggregation/coordinates.hpp"

namespace fedstride {

std::optional<Vector> TrimmedMean::mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
  const Changes changes = changes_of(updates);
  const std::size_t size = changes.size();
  // 0.29 x 100 is 28.999... in double, and 29 is meant.
  const auto left_out = static_cast<std::size_t>(std::floor(trim * static_cast<double>(size) + 1e-9));
  const std::size_t cut = std::min(left_out, (size - 1) / 2);
  return from_sorted_columns(changes, for_each_piece, [&](const SortedColumns& columns, SortedColumns::Row& row) {
    row.fill(0);
    for (std::size_t rank = cut; rank < size - cut; ++rank)
      for (std::size_t i = 0; i < row.size(); ++i) row[i] += static_cast<double>(columns[rank][i]);
    for (double& value : row) value /= static_cast<double>(size - 2 * cut);
  });
}

}  // namespace fedstride
