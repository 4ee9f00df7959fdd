#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/gradient.hpp"
#include "server/aggregation/coordinates.hpp"

namespace fedstride {

/// The squared Euclidean distance of two vectors of one size, in double.
double squared_distance(std::span<const float> a, std::span<const float> b);

/// The squared Euclidean distances of all pairs of changes: a symmetric matrix with zeros on its diagonal.
class SquaredDistances {
 public:
  /// By products of matrices, |a|^2 + |b|^2 - 2 ab for a and b relative to the coordinate-wise median, which attackers cannot
  /// move far. Where that cancels, two changes being nearer to each other than to the median, a pair's own differences are
  /// squared. So every distance is right to 1e-3 of itself, most to 1e-6, and that of equal changes is 0.
  SquaredDistances(const Changes& changes, ForEachPiece for_each_piece);

  std::size_t size() const { return size_; }
  double operator()(std::size_t i, std::size_t j) const { return values_[i * size_ + j]; }

 private:
  void measure(const Changes& changes, const Vector& centre, std::size_t first_row, std::size_t first_column);
  std::size_t size_;
  std::vector<double> values_;
};

}  // namespace fedstride
