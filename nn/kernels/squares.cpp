#include "nn/kernels/squares.hpp"

#include "nn/kernels/tiles.hpp"

namespace fedstride {
double squared_norm(const float* values, std::size_t size) {
  constexpr std::size_t kHalf = kLanes / 2;
  constexpr int kSums = 4;
  DoubleLanes sum[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums * kHalf <= size; i += kSums * kHalf)
    unrolled<kSums>([&](auto k) FEDSTRIDE_INLINE_LAMBDA {
      const DoubleLanes value = load_doubles(values + i + k * kHalf);
      sum[k] += value * value;
    });
  for (; i + kHalf <= size; i += kHalf) {
    const DoubleLanes value = load_doubles(values + i);
    sum[0] += value * value;
  }
  sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  double total = fedstride::sum(sum[0]);
  for (; i < size; ++i) total += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return total;
}

void add_scaled(float* to, const float* from, float factor, std::size_t size) {
  for_vectors(size, [&](std::size_t i, auto get, auto put)
                        FEDSTRIDE_INLINE_LAMBDA { put(to + i, get(to + i) + get(from + i) * factor); });
}

void scale(float* to, const float* from, float factor, std::size_t size) {
  for_vectors(size, [&](std::size_t i, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA { put(to + i, get(from + i) * factor); });
}

}  // namespace fedstride
