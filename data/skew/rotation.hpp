#pragma once

#include <string_view>
#include <tuple>

#include "data/skew/feature_skew.hpp"

namespace fedstride {

/// Client k's pictures are rotated counterclockwise by k mod R quarter turns (rotated MNIST and CIFAR-10, as in Ghosh et al. 2020,
/// IFCA): whole pixels, nothing is interpolated.
struct RotationSkew : FeatureSkewDefaults {
  int rotations = 4;  ///< R

  static constexpr std::string_view kName = "rotation";
  static constexpr std::string_view kSummary = "pictures rotated by quarter turns, by the client's number";
  static constexpr auto kFields = std::tuple{
      Field{"rotations", &RotationSkew::rotations, "rotations that there are: client k's is 90 degrees x (k mod rotations)",
            Valid{.low = 1, .high = 4}},
  };

  void check_data(const Dataset& data) const;
  int quarter_turns(std::uint32_t client) const { return static_cast<int>(client % static_cast<std::uint32_t>(rotations)); }
  bool redraws(std::uint32_t client) const { return quarter_turns(client) != 0; }
  void redraw(std::uint32_t client, const std::uint8_t* from, const Shape& shape, std::uint8_t* to) const;
};

}  // namespace fedstride
