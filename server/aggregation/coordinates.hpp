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

// Tools for aggregations that compare updates. The division of work into pieces depends only on the number and size of updates,
// and each piece sets the floating-point mode of computing threads, so results are bit-identical on any number of threads.

/// One or more changes of the same size, in order of clients.
using Changes = std::vector<std::span<const float>>;
Changes changes_of(const OpenUpdates& updates);

/// Each client's share of the total weight, in order of clients.
std::vector<double> shares_of(const OpenUpdates& updates);

/// Runs piece(0) ... piece(count - 1) through `for_each_piece`, in the mode of core/floating_point.hpp.
void in_pieces(std::size_t count, ForEachPiece for_each_piece, function_ref<void(std::size_t)> piece);

/// The sum of factors[k] x changes[k], computed in double in order of clients.
Vector linear_combination(const Changes& changes, std::span<const double> factors, ForEachPiece for_each_piece);

/// The changes' values at kWidth adjacent coordinates, sorted for each coordinate separately.
class SortedColumns {
 public:
  static constexpr std::size_t kWidth = 64;
  using Row = std::array<double, kWidth>;

  explicit SortedColumns(std::size_t changes) : size_(changes), values_(changes * kWidth) {}
  /// Loads and sorts the values at kWidth coordinates, starting at `first`; coordinates beyond the end are 0.
  void load(const Changes& changes, std::size_t first);

  std::size_t size() const { return size_; }
  /// The values of this rank (from 0), one per coordinate.
  const float* operator[](std::size_t rank) const { return values_.data() + rank * kWidth; }

 private:
  void sort();
  std::size_t size_;
  Vector values_;  ///< a row of kWidth for each change
};

/// Computes each coordinate from the changes' sorted values at that coordinate; combine(columns, row) fills `row`.
Vector from_sorted_columns(const Changes& changes, ForEachPiece for_each_piece,
                           function_ref<void(const SortedColumns&, SortedColumns::Row&)> combine);

/// The coordinate-wise median; for an even number of changes, the mean of the two middle values.
Vector coordinate_median(const Changes& changes, ForEachPiece for_each_piece);

}  // namespace fedstride
