#pragma once

#include <string>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Clients that differ by a continuous property of the examples (Flower Datasets' continuous partitioner). A row with property v
/// has the score strictness z + (1 - strictness) e, z = (v - mean) / deviation over the rows dealt out, e standard normal noise.
/// The rows, sorted by score, are cut into pieces of equal size up to one. Strictness 0 is a random split, 1 a sorted one: the first
/// client has the rows with the smallest property. Rows of one score stay in the data set's order.
struct Continuous {
  std::string property = "mean";
  double strictness = 0.5;

  static constexpr std::string_view kName = "continuous";
  static constexpr std::string_view kSummary =
      "sorted by a property of the examples, such as their brightness, more or less strictly";
  static constexpr Dealing kDealing = Dealing::features;
  static constexpr auto kFields = std::tuple{
      Field{"property", &Continuous::property,
            "mean: of the example's values, which is a picture's brightness; or the number of a column, counted from 0"},
      Field{"strictness", &Continuous::strictness, "share of the property in what rows are sorted by, the rest is noise",
            kFraction},
  };

  /// The property that input.property must have of every row.
  const std::string& needs_property() const { return property; }
  ClientRows assign(const PartitionInput& input) const;
};

}  // namespace fedstride
