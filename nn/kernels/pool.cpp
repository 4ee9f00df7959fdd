#include "nn/kernels/pool.hpp"

#include <algorithm>

#include "nn/simd.hpp"

namespace fedstride {
namespace {

FEDSTRIDE_INLINE void store_some(float* to, Lanes value, int count) {
  if (count >= kLanes)
    store(to, value);
  else
    store_first(to, value, count);
}

template <bool kWinners>
void max_pool_vectors(const float* const* rows, Window window, int width, int channels, bool relu, float* to,
                      std::uint8_t* winners) {
  const std::size_t padded = whole_lanes(channels);
  for (int x = 0; x < width; ++x) {
    const std::size_t left = static_cast<std::size_t>(x) * window.stride * padded;
    for (int c = 0; c < channels; c += kLanes) {
      Lanes best = load(rows[0] + left + c);
      IntLanes place{};
      for (int j = 0, here = 0; j < window.kernel; ++j) {
        for (int i = 0; i < window.kernel; ++i, ++here) {
          const Lanes value = load(rows[j] + left + i * padded + c);
          if constexpr (kWinners) place = value > best ? broadcast(here) : place;
          best = value > best ? value : best;
        }
      }
      if (relu) best = positive(best);
      store_some(to + static_cast<std::size_t>(x) * channels + c, best, channels - c);
      if constexpr (kWinners)
        *reinterpret_cast<UnalignedByteLanes*>(winners + x * padded + c) = __builtin_convertvector(place, ByteLanes);
    }
  }
}

}  // namespace

void max_pool_row(const float* const* rows, Window window, int width, int channels, bool relu, float* to,
                  std::uint8_t* winners) {
  if (winners == nullptr)
    max_pool_vectors<false>(rows, window, width, channels, relu, to, winners);
  else
    max_pool_vectors<true>(rows, window, width, channels, relu, to, winners);
}

void unpad_row(const float* from, int width, int channels, bool relu, float* to) {
  const std::size_t padded = whole_lanes(channels);
  for (int x = 0; x < width; ++x) {
    for (int c = 0; c < channels; c += kLanes) {
      const Lanes value = load(from + x * padded + c);
      store_some(to + static_cast<std::size_t>(x) * channels + c, relu ? positive(value) : value, channels - c);
    }
  }
}

}  // namespace fedstride
