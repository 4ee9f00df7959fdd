#include "nn/kernels/squares.hpp"

#include "nn/kernels/tiles.hpp"

namespace fedstride {

double squared_norm(const float* values, std::size_t size) {
  constexpr int kSums = 4;
  DoubleSums sums[kSums];
  const auto add = [&](auto k, const float* from) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kSumParts>([&](auto part) FEDSTRIDE_INLINE_LAMBDA {
      const DoubleLanes value = load_doubles(from + part * kDoubleLanes);
      sums[k].part[part] += value * value;
    });
  };
  std::size_t i = 0;
  for (; i + kSums * kDoubleSumLanes <= size; i += kSums * kDoubleSumLanes)
    unrolled<kSums>([&](auto k) FEDSTRIDE_INLINE_LAMBDA { add(k, values + i + k * kDoubleSumLanes); });
  for (; i + kDoubleSumLanes <= size; i += kDoubleSumLanes) add(std::integral_constant<int, 0>{}, values + i);
  for (int part = 0; part < kSumParts; ++part)
    sums[0].part[part] = (sums[0].part[part] + sums[1].part[part]) + (sums[2].part[part] + sums[3].part[part]);
  double total = sum(sums[0]);
  for (; i < size; ++i) total += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return total;
}

void add_scaled(float* to, const float* from, float factor, std::size_t size) {
  for_vectors(size, [&](std::size_t i, auto get, auto put)
                        FEDSTRIDE_INLINE_LAMBDA { put(to + i, fma(get(from + i), factor, get(to + i))); });
}

void add_scaled(double* to, const float* from, float factor, std::size_t size) {
  const DoubleLanes factors = static_cast<double>(factor) - DoubleLanes{};
  std::size_t i = 0;
  for (; i + kDoubleLanes <= size; i += kDoubleLanes) store(to + i, add_product(load_doubles(from + i), factors, load(to + i)));
  for (; i < size; ++i) to[i] += static_cast<double>(from[i]) * static_cast<double>(factor);
}

void scale(float* to, const float* from, float factor, std::size_t size) {
  for_vectors(size, [&](std::size_t i, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA { put(to + i, get(from + i) * factor); });
}

}  // namespace fedstride
