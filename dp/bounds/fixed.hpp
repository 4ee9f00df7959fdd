#pragma once

#include "dp/bounds/bound.hpp"

namespace fedstride {

/// Scales contributions longer than S down to S.
struct FixedBound final : PartBase<BoundPart, FixedBound> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "fixed";
  static constexpr std::string_view kSummary = "scales longer contributions down to the norm clip";
};

}  // namespace fedstride
