#include "server/aggregation/geometric_median.hpp"

#include <algorithm>
#include <cmath>

#include "server/aggregation/coordinates.hpp"
#include "server/aggregation/distances.hpp"

namespace fedstride {

std::optional<Vector> GeometricMedian::mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
  const Changes changes = changes_of(updates);
  const std::vector<double> shares = shares_of(updates);
  Vector centre = linear_combination(changes, shares, for_each_piece);
  std::vector<double> factors(changes.size());
  for (int step = 0; step < iterations; ++step) {
    in_pieces(changes.size(), for_each_piece, [&](std::size_t k) {
      factors[k] = shares[k] / std::max(smoothing, std::sqrt(squared_distance(changes[k], view(centre))));
    });
    double sum = 0;
    for (const double factor : factors) sum += factor;
    for (double& factor : factors) factor /= sum;
    centre = linear_combination(changes, factors, for_each_piece);
  }
  return centre;
}

}  // namespace fedstride
