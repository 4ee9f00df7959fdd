#pragma once

#include <string>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Rows at random, as many to each client as a list says (Flower Datasets' size partitioner). Whole numbers are rows: those
/// beyond their sum are held by nobody, and drawn at random. Fractions below 1 are shares of the rows; if they add up to less than
/// 1, the rest is held by nobody; their sizes are rounded by the largest remainder, and nobody is left without a row.
struct GivenSizes {
  std::string sizes;  ///< "100,200,50" or "0.5,0.25,0.25"

  static constexpr std::string_view kName = "sizes";
  static constexpr std::string_view kSummary = "rows at random, as many to each client as a list says";
  static constexpr Dealing kDealing = Dealing::counts;
  static constexpr auto kFields = std::tuple{
      Field{"sizes", &GivenSizes::sizes,
            "rows of each client, \"100,200,50\", or its share of them, \"0.5,0.25,0.25\"; rows beyond them are not used"},
  };

  ClientRows assign(const PartitionInput& input) const;
};

}  // namespace fedstride
