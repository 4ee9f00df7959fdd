#pragma once

#include <string>
#include <string_view>

#include "partitions/partitions.hpp"

namespace fedstride {

struct GivenSizesSettings {
  std::string sizes;  ///< "100,200,50", "0.5,0.25,0.25" or a size law

  static constexpr auto kFields =
      fields(Field{"sizes", &GivenSizesSettings::sizes,
                   "rows per client (\"100,200,50\") or shares (\"0.5,0.25,0.25\"), the rest unused; or of all rows, in "
                   "proportion to k + 1, its square or exp(k): linear, square, exponential"});
};

/// True for linear, square and exponential: client k's share is proportional to k + 1, (k + 1)^2 or exp(k).
bool is_size_law(std::string_view sizes);

/// Assigns random rows, with client sizes from a list (Flower Datasets' size partitioner) or by a law (its linear, square and
/// exponential partitioners). Whole numbers are counts of rows; any
/// rows beyond their sum, selected at random, stay unused. Fractions below 1 are shares; if they sum to less than 1, the
/// remaining rows stay unused. Shares, and a law's, are rounded by the largest remainder method, and every client gets at least one row.
struct GivenSizes final : PartBase<PartitionPart, GivenSizes, GivenSizesSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "sizes";
  static constexpr std::string_view kSummary = "random rows, client sizes from a list, or linear, square or exponential";

  Dealing dealing() const override { return Dealing::counts; }
  ClientRows assign(const PartitionInput& input) const override;
};

}  // namespace fedstride
