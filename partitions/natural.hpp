#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "partitions/partition.hpp"

namespace fedstride {

/// The clients that the data themselves name (writers, speakers, users): each client holds the rows of its name, in the order of the
/// names in the data. Those without a row among the input's are no clients. Throws Error (usage) unless `clients` is their number.
struct Natural {
  static constexpr std::string_view kName = "natural";
  static constexpr std::string_view kSummary =
      "the clients that the data name; without --clients all of them, with it the first so many";
  static constexpr Dealing kDealing = Dealing::given;
  static constexpr std::tuple<> kFields{};

  ClientRows assign(const PartitionInput& input) const;
};

/// The natural clients that have a row among the input's, ascending. Throws Error (usage) if the data name none.
std::vector<std::uint32_t> natural_clients(const PartitionInput& input);

}  // namespace fedstride
