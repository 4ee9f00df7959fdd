#pragma once

#include "data/skew/feature_skew.hpp"

namespace fedstride {

struct RotationSettings {
  int rotations = 4;  ///< R

  static constexpr auto kFields =
      fields(Field{"rotations", &RotationSettings::rotations,
                   "number of rotations; client k rotates by 90 degrees x (k mod rotations)", Valid{.low = 1, .high = 4}});
};

/// Client k's images are rotated counterclockwise by k mod R quarter turns (rotated MNIST and CIFAR-10, as in Ghosh et al. 2020,
/// IFCA): whole pixels move, without interpolation.
struct RotationSkew final : PartBase<FeatureSkewPart, RotationSkew, RotationSettings> {
  static constexpr std::string_view kName = "rotation";
  static constexpr std::string_view kSummary = "images rotated by quarter turns, by client number";

  std::string objection(const Dataset& data) const override;
  int quarter_turns(std::uint32_t client) const { return static_cast<int>(client % static_cast<std::uint32_t>(rotations)); }
  bool redraws(std::uint32_t client) const override { return quarter_turns(client) != 0; }
  void redraw(std::uint32_t client, const std::uint8_t* from, const Shape& shape, std::uint8_t* to) const override;
};

}  // namespace fedstride
