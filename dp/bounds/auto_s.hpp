#pragma once

#include "dp/bounds/bound.hpp"

namespace fedstride {

struct AutoSBoundSettings {
  double stability = 0.01;
  static constexpr auto kFields = fields(Field{"clip-stability", &AutoSBoundSettings::stability,
                                               "gamma: a contribution g becomes g clip / (|g| + gamma)", kPositive});
};

/// Automatic clipping (Bu, Wang, Zha & Karypis 2023, AUTO-S): a contribution g becomes g S / (|g| + gamma), even if it is short.
/// Its norm is then S |g| / (|g| + gamma) < S, and 0 stays 0, so the sum differs between neighbors by no more than with clipping.
/// The paper's rule without a bound, g / (|g| + gamma), is the case S = 1.
struct AutoSBound final : PartBase<BoundPart, AutoSBound, AutoSBoundSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "auto-s";
  static constexpr std::string_view kSummary =
      "scales each contribution by clip / (norm + clip-stability), up or down (Bu et al.)";

  double factor(double norm, double bound) const override { return bound / (norm + stability); }
  bool scales() const override { return true; }
};

}  // namespace fedstride
