#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/gradient.hpp"
#include "server/aggregation/coordinates.hpp"

namespace fedstride {

/// The squared Euclidean distance between two vectors of the same size, in double.
double squared_distance(std::span<const float> a, std::span<const float> b);

/// The squared Euclidean distances between all pairs of changes: a symmetric matrix with a zero diagonal.
class SquaredDistances {
 public:
  /// Computes distances by matrix products as |a|^2 + |b|^2 - 2 ab, with a and b relative to the coordinate-wise median, which
  /// attackers cannot move far. If the terms cancel because two changes are much nearer to each other than to the median, the
  /// pair's differences are squared instead. Every distance has a relative error of at most 1e-3, most about 1e-6, and equal
  /// changes have distance 0.
  SquaredDistances(const Changes& changes, ForEachPiece for_each_piece);

  std::size_t size() const { return size_; }
  double operator()(std::size_t i, std::size_t j) const { return values_[i * size_ + j]; }

 private:
  void measure(const Changes& changes, const Vector& center, std::size_t first_row, std::size_t first_column);
  std::size_t size_;
  std::vector<double> values_;
};

}  // namespace fedstride
