#pragma once

#include "data/skew/feature_skew.hpp"

namespace fedstride {

/// The data set's inputs, unchanged.
struct NoSkew final : PartBase<FeatureSkewPart, NoSkew> {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kSummary = "inputs unchanged";
};

}  // namespace fedstride
