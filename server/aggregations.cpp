#include "server/aggregation.hpp"
#include "server/weighted_mean.hpp"

namespace fedstride {

PartFamily& AggregationPart::family() {
  static PartFamily family = [] {
    PartFamily all("aggregation", "what one change is made of the clients' changes");
    add_parts<AggregationPart, WeightedMean>(all);
    return all;
  }();
  return family;
}

void check_aggregation(const Aggregation& aggregation, const SumRules& rules) {
  if (aggregation->reads() == Accumulator::Keeps::updates) require_open_updates(aggregation.name(), rules);
}

}  // namespace fedstride
