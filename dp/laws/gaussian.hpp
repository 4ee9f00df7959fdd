#pragma once

#include "dp/laws/law.hpp"

namespace fedstride {

/// Continuous noise, drawn by one party.
struct GaussianLaw final : Law {
  static constexpr std::string_view kName = "gaussian";
  double rdp(const DistributedNoise& noise, double order) const override {
    const double distance = noise.distance * noise.clip;
    return order * (distance * distance / (2 * noise.local_deviation * noise.local_deviation));
  }
  bool has_gaussian_like() const override { return true; }
  std::optional<GaussianLike> gaussian_like(const DistributedNoise& noise) const override {
    return GaussianLike{noise.local_deviation / noise.clip, 0};
  }
  IntegerNoise share(double /*deviation*/) const override { return {}; }  // not on integers
};

}  // namespace fedstride
