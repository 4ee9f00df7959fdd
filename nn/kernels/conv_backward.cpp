#include <algorithm>
#include <array>

#include "nn/kernels/conv.hpp"
#include "nn/simd.hpp"

namespace fedstride {
namespace {

constexpr int kMaxVectors = 12;  // of a filter row's gradient in registers

template <int kVectors>
void filter_stretch(const SpotList* lists, int pictures, std::size_t offset, float* to, int tail) {
  Lanes sum[kVectors] = {};
  for (int picture = 0; picture < pictures; ++picture) {
    const float* from = lists[picture].input + offset;
    const Spot* spots = lists[picture].spots;
    for (int i = 0; i < lists[picture].count; ++i) {
      const Lanes gradient = broadcast(spots[i].gradient);
      const float* source = from + spots[i].source;
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[v] += gradient * load(source + v * kLanes); });
    }
  }
  unrolled<kVectors - 1>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { store(to + v * kLanes, sum[v]); });
  store_first(to + (kVectors - 1) * kLanes, sum[kVectors - 1], tail);
}

template <int... kIndex>
constexpr auto filter_stretches(std::integer_sequence<int, kIndex...>) {
  return std::array{&filter_stretch<kIndex + 1>...};
}
constexpr auto kFilterStretches = filter_stretches(std::make_integer_sequence<int, kMaxVectors>{});

}  // namespace

void conv_data_gradient(const ConvShape& shape, const Spot* spots, int count, const float* filter, float* input_gradient) {
  const int stretch = shape.stretch();
  const int whole = stretch / kLanes * kLanes;
  for (int i = 0; i < count; ++i) {
    const Lanes gradient = broadcast(spots[i].gradient);
    const float* from = filter;
    for (int row = 0; row < shape.kernel; ++row, from += stretch) {
      float* to = input_gradient + spots[i].source + row * shape.pitch();
      for (int k = 0; k < whole; k += kLanes) store(to + k, load(to + k) + gradient * load(from + k));
      if (whole < stretch) {
        const int tail = stretch - whole;
        store_first(to + whole, load_first(to + whole, tail) + gradient * load_first(from + whole, tail), tail);
      }
    }
  }
}

float conv_filter_gradient(const ConvShape& shape, const SpotList* lists, int pictures, float* filter_gradient) {
  const int stretch = shape.stretch();
  for (int row = 0; row < shape.kernel; ++row) {
    for (int k = 0; k < stretch; k += kMaxVectors * kLanes) {
      const int width = std::min(kMaxVectors * kLanes, stretch - k);
      const int vectors = (width + kLanes - 1) / kLanes;
      kFilterStretches[vectors - 1](lists, pictures, row * shape.pitch() + k, filter_gradient + row * stretch + k,
                                    width - (vectors - 1) * kLanes);
    }
  }
  float total = 0;
  for (int picture = 0; picture < pictures; ++picture)
    for (int i = 0; i < lists[picture].count; ++i) total += lists[picture].spots[i].gradient;
  return total;
}

}  // namespace fedstride
