#pragma once

#include "dp/places/place.hpp"

namespace fedstride {

/// The coordinator adds Gaussian noise, rounded to the exact sum's integers.
struct CentralNoise final : TrustedPlace {
  static constexpr std::string_view kName = "central";
  static constexpr std::string_view kSummary = "the coordinator";
  bool correlates() const override { return true; }
};

}  // namespace fedstride
