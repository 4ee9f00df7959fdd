#pragma once

#include "server/aggregation.hpp"

namespace fedstride {

/// The sum of weight x change divided by the sum of the weights (McMahan et al. 2017, Algorithm 1); under client-level privacy,
/// divided by the expected weight (McMahan, Ramage, Talwar & Zhang 2018, the estimator with a fixed denominator).
struct WeightedMean final : PartBase<SummingAggregation, WeightedMean> {
  static constexpr std::string_view kName = "mean";
  static constexpr std::string_view kSummary = "the weighted mean of the clients' changes";

  std::optional<Vector> mean_change(const ReleasedSum& sum) const override { return sum.mean(); }
};

}  // namespace fedstride
