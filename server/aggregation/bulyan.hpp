#pragma once

#include <algorithm>

#include "server/aggregation/krum.hpp"

namespace fedstride {

/// Bulyan over Krum (El Mhamdi, Guerraoui & Rouault 2018, section 4), for n updates and at most f = byzantine attackers, n >= 4
/// f + 3. First, theta = n - 2 f updates are selected one by one: Krum takes the best of the r updates not yet selected, scored
/// among themselves with r - f - 2 neighbors (at least one, since the last r, 2 f + 1, is too small for Krum). Then each
/// parameter's change is the mean of the theta - 2 f selected values nearest to their median. For an even number of values, the
/// median is the smaller of the two middle ones; of two equally near values, the smaller is taken. Weights are ignored.
struct Bulyan final : PartBase<ComparingAggregation, Bulyan, Byzantine> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "bulyan";
  static constexpr std::string_view kSummary = "repeated Krum, then a mean around the median (El Mhamdi et al. 2018)";

  std::size_t least_updates() const override { return 4 * attackers() + 3; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    const Changes selection = selected(changes_of(updates), for_each_piece);
    const std::size_t left_out = 2 * attackers();
    const std::size_t kept = selection.size() - left_out;
    // The values nearest to the median are adjacent in sorted order. A window of them moves up as long as the value at its lower
    // end is farther from the median than the value just above the window. Both distances are monotone, so a value is in the
    // window if the window did not pass it but did pass the value `kept` ranks below it.
    return from_sorted_columns(selection, for_each_piece, [&](const SortedColumns& columns, SortedColumns::Row& row) {
      const float* median = columns[(columns.size() - 1) / 2];
      row.fill(0);
      for (std::size_t rank = 0; rank < columns.size(); ++rank) {
        const float* values = columns[rank];
        const float* above = rank < left_out ? columns[rank + kept] : nullptr;
        const float* below = rank >= kept ? columns[rank - kept] : nullptr;
        for (std::size_t i = 0; i < row.size(); ++i) {
          const bool is_passed = above != nullptr && median[i] - values[i] > above[i] - median[i];
          const bool is_reached = below == nullptr || median[i] - below[i] > values[i] - median[i];
          row[i] += is_reached && !is_passed ? static_cast<double>(values[i]) : 0.0;
        }
      }
      for (double& value : row) value /= static_cast<double>(kept);
    });
  }

 private:
  /// The updates that Krum selects, in order of clients.
  Changes selected(const Changes& changes, ForEachPiece for_each_piece) const {
    KrumScores scores(changes, attackers(), for_each_piece);
    std::vector<std::size_t> places(changes.size() - 2 * attackers());
    for (std::size_t& place : places) place = scores.take_best();
    std::ranges::sort(places);
    Changes selection;
    for (const std::size_t place : places) selection.push_back(changes[place]);
    return selection;
  }
};

}  // namespace fedstride
