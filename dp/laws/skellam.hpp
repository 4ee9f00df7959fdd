#pragma once

#include "dp/laws/law.hpp"

namespace fedstride {

/// Shares of Skellam noise, whose sum is Skellam noise (Agarwal, Kairouz & Liu 2021). The divergence of the sum is known at whole
/// orders; (a - 1) times the divergence is convex in the order a, so chords bound it in between.
struct SkellamLaw final : Law {
  static constexpr std::string_view kName = "skellam";
  double rdp(const DistributedNoise& noise, double order) const override;
  IntegerNoise share(double deviation) const override;
  double most_steps() const override;
};

}  // namespace fedstride
