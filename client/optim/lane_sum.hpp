#pragma once

#include <cstddef>

#include "core/simd.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// Sums `size` terms in double, in 16 lanes that are then added in order. With any vector width up to 16, the order of additions
/// is the same, and so are the bits. add(from, count, lanes) adds terms `from`, ..., from + count - 1 to lanes[0], ...,
/// lanes[count - 1]; count is kSumLanes except in the last call.
double block_sum(std::size_t size, auto add) {
  double lanes[kSumLanes] = {};
  std::size_t i = 0;
  for (; i + kSumLanes <= size; i += kSumLanes) add(i, kSumLanes, lanes);
  if (i < size) add(i, size - i, lanes);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

/// term(0) + ... + term(size - 1), in the order of block_sum.
double lane_sum(std::size_t size, auto term) {
  return block_sum(size, [&](std::size_t from, std::size_t count, double* lanes) {
    for (std::size_t lane = 0; lane < count; ++lane) lanes[lane] += term(from + lane);
  });
}

/// |a - b|^2 for vectors of the same size
inline double squared_distance(const Vector& a, const Vector& b) {
  return lane_sum(a.size(), [&](std::size_t i) {
    const auto difference = static_cast<double>(b[i] - a[i]);
    return difference * difference;
  });
}

}  // namespace fedstride
