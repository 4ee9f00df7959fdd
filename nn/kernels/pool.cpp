#include "nn/kernels/pool.hpp"

#include <algorithm>

#include "core/simd.hpp"

namespace fedstride {
namespace {

FEDSTRIDE_INLINE void store_some(float* to, Lanes value, int count) {
  if (count >= kLanes)
    store(to, value);
  else
    store_first(to, value, count);
}

/// kKernel: the window's kernel size, or 0 for any size.
template <int kKernel, bool kWinners>
void max_pool_vectors(const float* const* rows, Window window, int width, int channels, bool relu, float* to,
                      std::uint8_t* winners) {
  if constexpr (kKernel > 0) window.kernel = kKernel;
  const std::size_t padded = whole_lanes(channels);
  for (int x = 0; x < width; ++x) {
    const std::size_t left = static_cast<std::size_t>(x) * window.stride * padded;
    for (int c = 0; c < channels; c += kLanes) {
      Lanes best = load(rows[0] + left + c);
      IntLanes place{};
      const auto compare = [&](int j, int i) FEDSTRIDE_INLINE_LAMBDA {
        const Lanes value = load(rows[j] + left + i * padded + c);
        if constexpr (kWinners) place = value > best ? broadcast(j * window.kernel + i) : place;
        best = value > best ? value : best;
      };
      if constexpr (kKernel > 0) {
        unrolled<kKernel * kKernel>([&](auto k) FEDSTRIDE_INLINE_LAMBDA { compare(k / kKernel, k % kKernel); });
      } else {
        for (int j = 0; j < window.kernel; ++j)
          for (int i = 0; i < window.kernel; ++i) compare(j, i);
      }
      if (relu) best = positive(best);
      store_some(to + static_cast<std::size_t>(x) * channels + c, best, channels - c);
      if constexpr (kWinners)
        *reinterpret_cast<UnalignedByteLanes*>(winners + x * padded + c) = __builtin_convertvector(place, ByteLanes);
    }
  }
}

}  // namespace

void max_pool_row(const float* const* rows, Window window, int width, int channels, bool relu, float* to, std::uint8_t* winners) {
  const auto pool = [&]<bool kWinners>() {
    switch (window.kernel) {
      case 2:
        return max_pool_vectors<2, kWinners>(rows, window, width, channels, relu, to, winners);
      case 3:
        return max_pool_vectors<3, kWinners>(rows, window, width, channels, relu, to, winners);
      default:
        return max_pool_vectors<0, kWinners>(rows, window, width, channels, relu, to, winners);
    }
  };
  winners == nullptr ? pool.operator()<false>() : pool.operator()<true>();
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
