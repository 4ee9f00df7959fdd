#include <algorithm>
#include <array>

#include "nn/kernels/dense.hpp"

namespace fedstride {
namespace {

constexpr int kRowsAtOnce = 256;  // examples whose inputs to one tile fit the first-level cache

/// dw[i][o] += sum_k x[k * kInputs + i] dy[k * kPanelWidth + o]; `tail` outputs in the last vector.
template <int kInputs, int kVectors>
void product_tile(const float* x, const float* dy, int count, float* dw, std::size_t dw_stride, int tail) {
  Lanes sum[kInputs][kVectors] = {};
  for (int k = 0; k < count; ++k, x += kInputs, dy += kPanelWidth) {
    Lanes value[kVectors];
    unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { value[v] = in_register(load(dy + v * kLanes)); });
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes factor = broadcast(x[i]);
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[i][v] += factor * value[v]; });
    });
  }
  unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA {
      float* to = dw + i * dw_stride + v * kLanes;
      if (v + 1 < kVectors || tail == kLanes)
        store(to, load(to) + sum[i][v]);
      else
        store_first(to, load_first(to, tail) + sum[i][v], tail);
    });
  });
}

template <int kVectors, int... kIndex>
constexpr auto product_tiles(std::integer_sequence<int, kIndex...>) {
  return std::array{&product_tile<kIndex + 1, kVectors>...};
}
using InputCounts = std::make_integer_sequence<int, kTileRows>;
constexpr std::array kProductTiles{product_tiles<1>(InputCounts{}), product_tiles<2>(InputCounts{})};

}  // namespace

std::size_t packed_size(int rows, int outputs) {
  return static_cast<std::size_t>((outputs + kPanelWidth - 1) / kPanelWidth) * kPanelWidth *
         static_cast<std::size_t>(rows);
}

PackedGradients pack_gradients(Rows dy, int rows, int outputs, const float* factors, float* to, int* kept) {
  int count = 0;
  for (int r = 0; r < rows; ++r)
    if (factors == nullptr || factors[r] != 0) kept[count++] = r;
  const PackedGradients packed{to, kept, count};
  const int vectors = static_cast<int>(whole_lanes(static_cast<std::size_t>(outputs))) / kLanes;
  for (int v = 0; v < vectors; v += 2) {
    for (int k = 0; k < count; ++k, to += kPanelWidth) {
      const float factor = factors == nullptr ? 1.0F : factors[kept[k]];
      const float* from = dy[kept[k]] + v * kLanes;
      store(to, load(from) * factor);
      store(to + kLanes, v + 1 < vectors ? load(from + kLanes) * factor : Lanes{});
    }
  }
  return packed;
}

void dense_weight_gradient(Rows x, const PackedGradients& dy, int outputs, int first, int last, float* dw) {
  alignas(64) float inputs[kTileRows * kRowsAtOnce];
  std::fill_n(dw, static_cast<std::size_t>(last - first) * outputs, 0.0F);
  const int blocks = (last - first + kTileRows - 1) / kTileRows;
  for (int k = 0; k < dy.count; k += kRowsAtOnce) {
    const int count = std::min(kRowsAtOnce, dy.count - k);
    for (int block = 0; block < blocks; ++block) {
      const int begin = (last - first) * block / blocks;
      const int width = (last - first) * (block + 1) / blocks - begin;
      for (int j = 0; j < count; ++j) {
        const float* from = x[dy.rows[k + j]] + first + begin;
        for (int i = 0; i < width; ++i) inputs[j * width + i] = from[i];
      }
      const float* panel = dy.data + static_cast<std::size_t>(k) * kPanelWidth;
      for (int o = 0; o < outputs; o += kPanelWidth, panel += static_cast<std::size_t>(dy.count) * kPanelWidth) {
        const int vectors = outputs - o > kLanes ? 2 : 1;
        const int tail = std::min(kLanes, outputs - o - (vectors - 1) * kLanes);
        kProductTiles[vectors - 1][width - 1](inputs, panel, count, dw + static_cast<std::size_t>(begin) * outputs + o,
                                              outputs, tail);
      }
    }
  }
}

void column_sums(const PackedGradients& dy, int outputs, float* sums) {
  const float* from = dy.data;
  for (int o = 0; o < outputs; o += kPanelWidth) {
    Lanes total[2] = {};
    for (int k = 0; k < dy.count; ++k, from += kPanelWidth) {
      total[0] += load(from);
      total[1] += load(from + kLanes);
    }
    store(sums + o, total[0]);
    if (o + kLanes < outputs) store(sums + o + kLanes, total[1]);
  }
}

}  // namespace fedstride
