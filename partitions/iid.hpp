#pragma once

#include <string_view>
#include <tuple>

#include "partitions/partition.hpp"

namespace fedstride {

/// Every client draws from the same distribution: the shuffled rows, cut into pieces of equal size up to one.
struct Iid {
  static constexpr std::string_view kName = "iid";
  static constexpr std::string_view kSummary = "rows at random, client sizes equal up to one";
  static constexpr Dealing kDealing = Dealing::counts;
  static constexpr std::tuple<> kFields{};

  ClientRows assign(const PartitionInput& input) const;
};

}  // namespace fedstride
