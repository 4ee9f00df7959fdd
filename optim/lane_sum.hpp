#pragma once

#include <cstddef>

namespace fedstride {

inline constexpr std::size_t kSumLanes = 16;

/// A sum of `size` terms in doubles, in 16 lanes that are added up in order: the compiler may use vectors of any width up to
/// that, and the order, and so the bits, are the same. add(from, count, lanes) adds terms from ... from + count - 1 to
/// lanes[0] ... lanes[count - 1]; count is kSumLanes but for the last.
template <class Add>
double block_sum(std::size_t size, Add add) {
  double lanes[kSumLanes] = {};
  std::size_t i = 0;
  for (; i + kSumLanes <= size; i += kSumLanes) add(i, kSumLanes, lanes);
  if (i < size) add(i, size - i, lanes);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

/// term(0) + ... + term(size - 1), likewise.
template <class Term>
double lane_sum(std::size_t size, Term term) {
  return block_sum(size, [&](std::size_t from, std::size_t count, double* lanes) {
    for (std::size_t lane = 0; lane < count; ++lane) lanes[lane] += term(from + lane);
  });
}

}  // namespace fedstride
