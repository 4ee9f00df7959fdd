#include "server/aggregation/bulyan.hpp"

#include <algorithm>

namespace fedstride {
namespace {

/// By Krum, those selected in order of clients.
Changes bulyan_selection(const Changes& changes, std::size_t attackers, ForEachPiece for_each_piece) {
  KrumScores scores(changes, attackers, for_each_piece);
  std::vector<std::size_t> places(changes.size() - 2 * attackers);
  for (std::size_t& place : places) place = scores.take_best();
  std::ranges::sort(places);
  Changes selection;
  for (const std::size_t place : places) selection.push_back(changes[place]);
  return selection;
}

}  // namespace

std::optional<Vector> Bulyan::mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
  const auto attackers = static_cast<std::size_t>(byzantine);
  const Changes selection = bulyan_selection(changes_of(updates), attackers, for_each_piece);
  const std::size_t left_out = 2 * attackers;
  const std::size_t kept = selection.size() - left_out;
  // The values nearest to the median are neighbours in their order. A window of them moves up past the value at its lower end as
  // long as that is farther from the median than the one above the window; both distances are monotone, so a value is in the
  // window if the window did not pass it, but did pass the value `kept` before it.
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

}  // namespace fedstride
