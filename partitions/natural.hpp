#pragma once

#include <cstdint>
#include <vector>

#include "partitions/partitions.hpp"

namespace fedstride {

/// The clients named in the data (writers, speakers, users): each client holds the rows with its name. Clients follow the order
/// of the names in the data; names without a row in the input are skipped. Throws Error (usage) unless `clients` is the number of
/// names with rows.
struct Natural final : PartBase<PartitionPart, Natural> {
  static constexpr std::string_view kName = "natural";
  static constexpr std::string_view kSummary = "the natural clients named in the data; --clients N takes the first N";

  Dealing dealing() const override { return Dealing::given; }
  ClientRows assign(const PartitionInput& input) const override;
};

/// The natural clients that have a row in the input, ascending. Throws Error (usage) if the data name none.
std::vector<std::uint32_t> natural_clients(const PartitionInput& input);

}  // namespace fedstride
