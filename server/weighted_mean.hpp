#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

/// sum of weight x change over the sum of the weights (McMahan et al. 2017, Algorithm 1); under client-level privacy over the
/// expected weight (McMahan, Ramage, Talwar & Zhang 2018, the estimator with a fixed denominator).
struct WeightedMean {
  static constexpr std::string_view kName = "mean";
  static constexpr std::string_view kSummary = "the weighted mean of the clients' changes";
  static constexpr auto kFields = std::tuple{};

  std::optional<Vector> mean_change(const ReleasedSum& sum) const { return sum.mean(); }
};

}  // namespace fedstride
