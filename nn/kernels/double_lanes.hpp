#pragma once

#include "core/simd.hpp"

namespace fedstride {

// Half as many doubles as there are Lanes, which fit in a vector register.

typedef double DoubleLanes __attribute__((vector_size(kLanes * 4)));
typedef float HalfLanes __attribute__((vector_size(kLanes * 2)));
typedef float UnalignedHalfLanes __attribute__((vector_size(kLanes * 2), aligned(4), may_alias));

inline constexpr std::size_t kDoubleLanes = kLanes / 2;

FEDSTRIDE_INLINE DoubleLanes load_doubles(const float* from) {
  return __builtin_convertvector(static_cast<HalfLanes>(*reinterpret_cast<const UnalignedHalfLanes*>(from)), DoubleLanes);
}

/// Adds up the lanes, always in the same order.
FEDSTRIDE_INLINE double sum(DoubleLanes value) {
  double total = 0;
  for (std::size_t lane = 0; lane < kDoubleLanes; ++lane) total += value[lane];
  return total;
}

}  // namespace fedstride
