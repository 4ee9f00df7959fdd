#pragma once

#include "server/aggregation.hpp"
#include "server/aggregation/coordinates.hpp"

namespace fedstride {

/// The coordinate-wise median (Yin, Chen, Ramchandran & Bartlett 2018, Definition 1): each parameter's change is the median of
/// the clients' changes of that parameter; for an even number of clients, the mean of the two middle values. Weights are
/// ignored.
struct Median final : PartBase<ComparingAggregation, Median> {
  static constexpr std::string_view kName = "median";
  static constexpr std::string_view kSummary = "coordinate-wise median (Yin et al. 2018)";

  bool is_by_coordinate() const override { return true; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    return coordinate_median(changes_of(updates), for_each_piece);
  }
};

}  // namespace fedstride
