#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// The rows sorted by label, cut into clients x S shards of equal size up to one, S of them at random to each client
/// (McMahan et al. 2017, section 3: 100 clients, 200 shards of 300). Rows of one label keep the data set's order, so
/// the seed decides only who gets which shard.
struct Shards {
  int shards_per_client = 2;  ///< S

  static constexpr std::string_view kName = "shards";
  static constexpr std::string_view kSummary = "sorted by label, cut into shards, a few at random to each client";
  static constexpr Dealing kDealing = Dealing::labels;
  static constexpr auto kFields = std::tuple{
      Field{"shards-per-client", &Shards::shards_per_client, "shards each client gets", kAtLeastOne},
  };

  Assignment assign(const PartitionInput& input) const;
};

}  // namespace fedstride
