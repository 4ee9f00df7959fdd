#pragma once

#include "dp/bounds/bound.hpp"

namespace fedstride {

/// Scales every contribution to the norm S, so the sum differs between neighbors by no more than with clipping.
struct ScaledBound final : PartBase<BoundPart, ScaledBound> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "scaled";
  static constexpr std::string_view kSummary = "scales every update up or down to the norm clip";

  double factor(double norm, double bound) const override { return bound / norm; }
  bool scales() const override { return true; }
  bool is_for_lots() const override { return false; }
};

}  // namespace fedstride
