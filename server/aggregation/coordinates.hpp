#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/function_ref.hpp"
#include "core/gradient.hpp"
#include "core/vector.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

// For aggregations that compare updates. All of it is cut into pieces by the updates' number and size alone, and each piece
// runs in the floating-point mode of a thread that computes, so that bits depend neither on threads nor on their mode.

/// Changes of one size, in order of clients; at least one.
using Changes = std::vector<std::span<const float>>;
Changes changes_of(const OpenUpdates& updates);

/// Each client's share of all weights, in order of clients.
std::vector<double> shares_of(const OpenUpdates& updates);

/// Runs piece(0) ... piece(count - 1) by `for_each_piece`, in the mode of core/floating_point.hpp.
void in_pieces(std::size_t count, ForEachPiece for_each_piece, function_ref<void(std::size_t)> piece);

/// The sum of factors[k] x changes[k], added up in double in order of clients.
Vector linear_combination(const Changes& changes, std::span<const double> factors, ForEachPiece for_each_piece);

/// The changes' values at kWidth neighbouring coordinates; those of each coordinate are sorted for themselves.
class SortedColumns {
 public:
  static constexpr std::size_t kWidth = 64;
  using Row = std::array<double, kWidth>;

  explicit SortedColumns(std::size_t changes) : size_(changes), values_(changes * kWidth) {}
  /// Loads and sorts the coordinates from `first`; at most kWidth, as many as there are. Those beyond the end are 0.
  void load(const Changes& changes, std::size_t first);

  std::size_t size() const { return size_; }
  /// The value of each coordinate that has `rank` values before it.
  const float* operator[](std::size_t rank) const { return values_.data() + rank * kWidth; }

 private:
  void sort();
  std::size_t size_;
  Vector values_;  ///< a row of kWidth for each change
};

/// A vector whose coordinates are functions of the changes' sorted values there. combine(columns, row) fills the row.
Vector from_sorted_columns(const Changes& changes, ForEachPiece for_each_piece,
                           function_ref<void(const SortedColumns&, SortedColumns::Row&)> combine);

/// The coordinate-wise median; for an even number of changes the mean of the two middle values.
Vector coordinate_median(const Changes& changes, ForEachPiece for_each_piece);

}  // namespace fedstride
