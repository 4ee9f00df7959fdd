#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// So many natural clients together are one client: silos of people, hospitals of patients. The natural clients are shuffled
/// (partition_stream, natural_order) and cut into groups of `natural_per_client`, the last of which may be smaller. Throws Error (usage) unless `clients` is the
/// number of groups.
struct NaturalGrouped {
  int natural_per_client = 10;

  static constexpr std::string_view kName = "natural-grouped";
  static constexpr std::string_view kSummary = "so many of the clients that the data name are one client, drawn by the seed";
  static constexpr Dealing kDealing = Dealing::given;
  static constexpr auto kFields = std::tuple{
      Field{"natural-per-client", &NaturalGrouped::natural_per_client, "clients that the data name in each client",
            Valid{.low = 1, .high = 1e7}},
  };

  ClientRows assign(const PartitionInput& input) const;
};

}  // namespace fedstride
