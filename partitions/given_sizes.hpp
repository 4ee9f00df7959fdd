#pragma once

#include <string>

#include "partitions/partitions.hpp"

namespace fedstride {

struct GivenSizesSettings {
  std::string sizes;  ///< "100,200,50" or "0.5,0.25,0.25"

  static constexpr auto kFields = std::tuple{Field{
      "sizes", &GivenSizesSettings::sizes, "rows per client (\"100,200,50\") or shares (\"0.5,0.25,0.25\"); the rest is unused"}};
};

/// Assigns random rows, with client sizes from a list (Flower Datasets' size partitioner). Whole numbers are counts of rows; any
/// rows beyond their sum, selected at random, stay unused. Fractions below 1 are shares; if they sum to less than 1, the
/// remaining rows stay unused. Shares are rounded by the largest remainder method, and every client gets at least one row.
struct GivenSizes final : PartBase<PartitionPart, GivenSizes, GivenSizesSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "sizes";
  static constexpr std::string_view kSummary = "random rows, client sizes from a list";

  Dealing dealing() const override { return Dealing::counts; }
  ClientRows assign(const PartitionInput& input) const override;
};

}  // namespace fedstride
