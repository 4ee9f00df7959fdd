#pragma once

#include <algorithm>
#include <cmath>

#include "server/aggregation.hpp"
#include "server/aggregation/coordinates.hpp"

namespace fedstride {

struct TrimmedMeanSettings {
  double trim = 0.1;
  static constexpr auto kFields = fields(Field{"trim", &TrimmedMeanSettings::trim,
                                               "share of clients left out at each end of the sorted changes of a parameter",
                                               Valid{.low = 0, .high = 0.5, .high_included = false}});
};

/// The coordinate-wise trimmed mean (Yin, Chen, Ramchandran & Bartlett 2018, Definition 2): of the n changes of each parameter,
/// the floor(trim n) smallest and equally many largest are left out and the rest averaged. Weights are ignored.
struct TrimmedMean final : PartBase<ComparingAggregation, TrimmedMean, TrimmedMeanSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "trimmed-mean";
  static constexpr std::string_view kSummary = "coordinate-wise trimmed mean (Yin et al. 2018)";

  bool is_by_coordinate() const override { return true; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    const Changes changes = changes_of(updates);
    const std::size_t size = changes.size();
    // 0.29 x 100 is 28.999... in double but means 29.
    const auto left_out = static_cast<std::size_t>(std::floor(trim * static_cast<double>(size) + 1e-9));
    const std::size_t cut = std::min(left_out, (size - 1) / 2);
    return from_sorted_columns(changes, for_each_piece, [&](const SortedColumns& columns, SortedColumns::Row& row) {
      row.fill(0);
      for (std::size_t rank = cut; rank < size - cut; ++rank)
        for (std::size_t i = 0; i < row.size(); ++i) row[i] += static_cast<double>(columns[rank][i]);
      for (double& value : row) value /= static_cast<double>(size - 2 * cut);
    });
  }
};

}  // namespace fedstride
