#include "server/aggregation/norm_bounded.hpp"

#include <algorithm>

#include "dp/noise/client_release.hpp"
#include "server/aggregation/coordinates.hpp"

namespace fedstride {
namespace {

double median_norm(std::vector<double> norms) {
  std::ranges::sort(norms);
  return (norms[(norms.size() - 1) / 2] + norms[norms.size() / 2]) / 2;
}

}  // namespace

std::optional<Vector> NormBounded::mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
  const Changes changes = changes_of(updates);
  std::vector<double> norms(changes.size());
  in_pieces(changes.size(), for_each_piece, [&](std::size_t k) { norms[k] = l2_norm(changes[k]); });
  const double bound = norm_bound > 0 ? norm_bound : median_norm(norms);
  std::vector<double> factors = shares_of(updates);
  for (std::size_t k = 0; k < factors.size(); ++k)
    if (norms[k] > bound) factors[k] *= bound / norms[k];
  return linear_combination(changes, factors, for_each_piece);
}

}  // namespace fedstride
