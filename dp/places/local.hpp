#pragma once

#include "dp/places/place.hpp"

namespace fedstride {

/// Each client adds all of the noise to its update.
struct LocalNoise final : NoisePlace {
  static constexpr std::string_view kName = "local";
  static constexpr std::string_view kSummary = "each client, in full, to its own update";
  bool is_central() const override { return false; }
  /// The update's owner is known, so a neighbor can only replace it.
  std::optional<Neighbours> neighbours() const override { return Neighbours::replace_one; }
  std::vector<std::string> assumptions() const override { return {"each client adds all of the noise itself"}; }
};

}  // namespace fedstride
