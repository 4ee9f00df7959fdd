#pragma once

#include <string_view>
#include <tuple>

#include "partitions/partition.hpp"

namespace fedstride {

// Rows at random, client sizes that grow with the client's number (Flower Datasets' linear, square and exponential
// partitioners). Sizes are rounded by the largest remainder; nobody is left without a row (sizes_in_proportion).

/// Client k = 0, 1, ... gets a share in proportion to k + 1.
struct Linear {
  static constexpr std::string_view kName = "linear";
  static constexpr std::string_view kSummary = "rows at random, client k's size in proportion to k + 1";
  static constexpr Dealing kDealing = Dealing::counts;
  static constexpr std::tuple<> kFields{};

  ClientRows assign(const PartitionInput& input) const;
};

/// In proportion to (k + 1)^2.
struct Square {
  static constexpr std::string_view kName = "square";
  static constexpr std::string_view kSummary = "rows at random, client k's size in proportion to (k + 1)^2";
  static constexpr Dealing kDealing = Dealing::counts;
  static constexpr std::tuple<> kFields{};

  ClientRows assign(const PartitionInput& input) const;
};

/// In proportion to exp(k): the last client has 63 % of the rows, the one before it 23 %, ...; where these shares are less than a
/// row, a client has one row.
struct Exponential {
  static constexpr std::string_view kName = "exponential";
  static constexpr std::string_view kSummary = "rows at random, client k's size in proportion to exp(k)";
  static constexpr Dealing kDealing = Dealing::counts;
  static constexpr std::tuple<> kFields{};

  ClientRows assign(const PartitionInput& input) const;
};

}  // namespace fedstride
