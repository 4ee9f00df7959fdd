#include "nn/kernels/squares.hpp"

#include "core/simd.hpp"

namespace fedstride {
namespace {

typedef double DoubleLanes __attribute__((vector_size(kLanes * 4)));
typedef float HalfLanes __attribute__((vector_size(kLanes * 2)));
typedef float UnalignedHalfLanes __attribute__((vector_size(kLanes * 2), aligned(4), may_alias));

FEDSTRIDE_INLINE DoubleLanes load_doubles(const float* from) {
  return __builtin_convertvector(static_cast<HalfLanes>(*reinterpret_cast<const UnalignedHalfLanes*>(from)), DoubleLanes);
}

}  // namespace

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
  double total = 0;
  for (std::size_t lane = 0; lane < kHalf; ++lane) total += sum[0][lane];
  for (; i < size; ++i) total += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return total;
}

void add_scaled(float* to, const float* from, float factor, std::size_t size) {
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) store(to + i, load(to + i) + load(from + i) * factor);
  const int tail = static_cast<int>(size - i);
  if (tail > 0) store_first(to + i, load_first(to + i, tail) + load_first(from + i, tail) * factor, tail);
}

void scale(float* to, const float* from, float factor, std::size_t size) {
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) store(to + i, load(from + i) * factor);
  const int tail = static_cast<int>(size - i);
  if (tail > 0) store_first(to + i, load_first(from + i, tail) * factor, tail);
}

}  // namespace fedstride
