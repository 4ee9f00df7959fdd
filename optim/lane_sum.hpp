#pragma once

#include <cstddef>

namespace fedstride {

/// term(0) + ... + term(size - 1) in doubles, in 16 lanes that are added up in order: the compiler may use vectors of any width
/// up to that, and the order, and so the bits, are the same.
template <class Term>
double lane_sum(std::size_t size, Term term) {
  constexpr std::size_t kLanes = 16;
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  for (std::size_t lane = 0; i < size; ++i, ++lane) lanes[lane] += term(i);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace fedstride
