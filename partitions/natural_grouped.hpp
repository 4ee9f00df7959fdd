#pragma once

#include <string>

#include "core/error.hpp"
#include "core/text.hpp"
#include "partitions/dealing.hpp"
#include "partitions/natural.hpp"
#include "partitions/partitions.hpp"

namespace fedstride {

struct NaturalGroupedSettings {
  int natural_per_client = 10;

  static constexpr auto kFields = fields(Field{"natural-per-client", &NaturalGroupedSettings::natural_per_client,
                                               "natural clients grouped into each client", Valid{.low = 1, .high = 1e7}});
};

/// Groups natural clients into clients, such as people into silos or patients into hospitals. The natural clients are shuffled
/// (partition_stream, natural_order) and cut into groups of `natural_per_client`; the last group may be smaller. Throws Error
/// (usage) unless `clients` is the number of groups.
struct NaturalGrouped final : PartBase<PartitionPart, NaturalGrouped, NaturalGroupedSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "natural-grouped";
  static constexpr std::string_view kSummary = "random groups of natural clients, one group per client";

  Dealing dealing() const override { return Dealing::given; }
  ClientRows assign(const PartitionInput& input) const override {
    check_input(input);
    std::vector<std::uint32_t> present = natural_clients(input);
    const auto each = static_cast<std::size_t>(natural_per_client);
    const std::size_t groups = (present.size() + each - 1) / each;
    if (groups != static_cast<std::size_t>(input.clients))
      throw usage_error("clients is " + std::to_string(input.clients) + "; " + counted(present.size(), "client") +
                        " named in the data make " + std::to_string(groups) + " groups of " + std::to_string(each) +
                        "; use at most that many, or 0 for all");
    RandomStream random = partition_stream(input.seed, PartitionDraw::natural_order);
    shuffle(std::span(present), random);
    std::vector<std::uint32_t> places(input.natural_clients);
    for (std::size_t i = 0; i < present.size(); ++i) places[present[i]] = static_cast<std::uint32_t>(i / each);
    return rows_by_group(input, places, groups);
  }
};

}  // namespace fedstride
