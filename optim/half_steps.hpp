#pragma once

#include <cstddef>
#include <cstdint>

#include "core/simd.hpp"
#include "core/vector.hpp"

namespace fedstride {

// Adaptive rules take two half steps in place: the weights move to the half step and on to the whole one, and what they were is
// kept aside, to compare the halves with and in case the step is undone. That is the only memory a step touches beyond SGD's. In
// models larger than a core's own cache it goes past the caches, which then hold the same weights as under SGD.

/// Floats from those at work to those wanted next: about a stretch of a gradient.
inline constexpr std::size_t kAhead = 2048;

/// True for models that do not fit in a core's own cache.
constexpr bool pass_caches(std::size_t parameters) { return parameters * sizeof(float) > std::size_t{1} << 20; }

/// Copies a stretch of the weights; with `past` around the caches, as far as it lies on vectors' boundaries.
inline void keep_aside(const float* __restrict weights, float* __restrict kept, std::size_t size, bool past) {
  std::size_t i = 0;
  if (past && reinterpret_cast<std::uintptr_t>(kept) % sizeof(Lanes) == 0)
    for (; i + kLanes <= size; i += kLanes) store_past_caches(kept + i, load(weights + i));
  for (; i < size; ++i) kept[i] = weights[i];
}

/// Before kept[i] is used: fetches what will be wanted next, not to be kept in any cache.
inline void fetch_kept(const float* kept) { __builtin_prefetch(kept + kAhead, 0, 0); }

/// Shortens the way from what was kept aside to the weights.
inline void shorten(const Vector& kept, Vector& weights, double factor) {
  const auto share = static_cast<float>(factor);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = kept[i] + share * (weights[i] - kept[i]);
}

}  // namespace fedstride
