#pragma once

#include <algorithm>
#include <numeric>
#include <string>

#include "core/text.hpp"
#include "partitions/dealing.hpp"
#include "partitions/partitions.hpp"

namespace fedstride {

struct ShardsSettings {
  int shards_per_client = 2;  ///< S

  static constexpr auto kFields =
      fields(Field{"shards-per-client", &ShardsSettings::shards_per_client, "shards per client", kAtLeastOne});
};

/// The rows are sorted by label and cut into clients x S shards whose sizes differ by at most one; each client gets S random
/// shards (McMahan et al. 2017, section 3: 100 clients, 200 shards of 300). Rows with the same label keep the data set's order,
/// so the seed decides only which client gets which shard.
struct Shards final : PartBase<PartitionPart, Shards, ShardsSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "shards";
  static constexpr std::string_view kSummary = "rows sorted by label and cut into shards, a few random ones per client";

  Dealing dealing() const override { return Dealing::labels; }
  ClientRows assign(const PartitionInput& input) const override {
    check_input(input);
    const auto clients = static_cast<std::size_t>(input.clients);
    const std::size_t most = input.rows.size() / clients;
    if (shards_per_client < 1 || static_cast<std::size_t>(shards_per_client) > most)
      throw usage_error("shards-per-client is " + std::to_string(shards_per_client) + "; with " +
                        counted(input.rows.size(), "row") + " and " + counted(clients, "client") +
                        " it must be a whole number from 1 to " + std::to_string(most));

    std::vector<std::uint32_t> rows(input.rows.begin(), input.rows.end());
    std::sort(rows.begin(), rows.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return input.labels[a] < input.labels[b]; });
    std::vector<std::size_t> shards(clients * static_cast<std::size_t>(shards_per_client));
    std::iota(shards.begin(), shards.end(), 0);
    RandomStream random = partition_stream(input.seed, PartitionDraw::shard_order);
    shuffle(std::span(shards), random);

    Assignment assignment(clients);
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const auto shard = even_piece(rows, shards[i], shards.size());
      auto& list = assignment[i % clients];
      list.insert(list.end(), shard.begin(), shard.end());
    }
    finish(assignment);
    return assignment;
  }
};

}  // namespace fedstride
