#pragma once

#include "dp/places/place.hpp"

namespace fedstride {

/// Each client adds a share of the noise, and secure aggregation reveals only the sum to the coordinator. Members of a cohort
/// know that they are members, and adversaries may be among them.
struct DistributedShares final : NoisePlace {
  static constexpr std::string_view kName = "distributed";
  static constexpr std::string_view kSummary = "each client, in shares, with secure aggregation";
  bool has_shares() const override { return true; }
  bool is_on_integers() const override { return true; }
  std::string mover() const override { return "with client-noise 'distributed', a client that is absent adds no noise either"; }
};

}  // namespace fedstride
