#pragma once

#include <string_view>
#include <tuple>

#include "data/skew/feature_skew.hpp"

namespace fedstride {

/// Inputs as the data set has them.
struct NoSkew : FeatureSkewDefaults {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kSummary = "inputs as the data set has them";
  static constexpr std::tuple<> kFields{};
};

}  // namespace fedstride
