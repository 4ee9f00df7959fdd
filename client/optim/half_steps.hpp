#pragma once

#include <cstddef>
#include <cstdint>

#include "core/simd.hpp"
#include "core/vector.hpp"

namespace fedstride {

// Adaptive optimizers take two half steps in place: the weights move to the half step and then to the full step. The old weights
// are saved to compare the halves and to undo the step; the saved copy is the only memory a step touches beyond SGD's. For models
// larger than a core's private cache, the copy bypasses the caches, which then hold the same weights as with SGD.

/// Prefetch distance in floats, about one stretch of a gradient.
inline constexpr std::size_t kAhead = 2048;

/// True for models that do not fit in a core's private cache.
constexpr bool bypasses_caches(std::size_t parameters) { return parameters * sizeof(float) > std::size_t{1} << 20; }

/// Copies a stretch of the weights; if `bypass`, the part aligned to SIMD vectors bypasses the caches.
inline void save_stretch(const float* __restrict weights, float* __restrict saved, std::size_t size, bool bypass) {
  std::size_t i = 0;
  if (bypass && reinterpret_cast<std::uintptr_t>(saved) % sizeof(Lanes) == 0)
    for (; i + kLanes <= size; i += kLanes) store_past_caches(saved + i, load(weights + i));
  for (; i < size; ++i) saved[i] = weights[i];
}

/// Call before reading `saved`: prefetches the data kAhead floats further on without keeping it in the caches.
inline void prefetch_saved(const float* saved) { __builtin_prefetch(saved + kAhead, 0, 0); }

/// Scales the step from the saved weights to the current ones by `factor`.
inline void shorten(const Vector& saved, Vector& weights, double factor) {
  const auto share = static_cast<float>(factor);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = saved[i] + share * (weights[i] - saved[i]);
}

}  // namespace fedstride
