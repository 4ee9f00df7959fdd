#include "server/aggregation.hpp"
#include "server/aggregation/bulyan.hpp"
#include "server/aggregation/geometric_median.hpp"
#include "server/aggregation/krum.hpp"
#include "server/aggregation/median.hpp"
#include "server/aggregation/norm_bounded.hpp"
#include "server/aggregation/trimmed_mean.hpp"
#include "server/aggregation/weighted_mean.hpp"

namespace fedstride {

PartFamily& AggregationPart::family() {
  static PartFamily family = [] {
    PartFamily all("aggregation", "how the clients' changes are combined into one", Question::federation, Shown::often);
    add_parts<AggregationPart, WeightedMean, Median, TrimmedMean, Krum, MultiKrum, Bulyan, GeometricMedian, NormBounded>(all);
    return all;
  }();
  return family;
}

void check_aggregation(const Aggregation& aggregation, const Attack& attack, const SumRules& rules) {
  if (aggregation->reads() == Accumulator::Keeps::updates)
    require_open_updates("aggregation '" + std::string(aggregation.name()) + "'", rules);
  if (attack->conspires()) require_open_updates("attack '" + std::string(attack.name()) + "'", rules);
}

}  // namespace fedstride
