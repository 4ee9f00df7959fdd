#include <algorithm>
#include <array>

#include "core/simd.hpp"
#include "nn/kernels/conv.hpp"

namespace fedstride {
namespace {

// A tile of a filter's gradient lives in registers: kMaxOutputs filters by kMaxVectors vectors of a kernel's row.
constexpr int kMaxOutputs = kRegisters == 32 ? 6 : 4;
constexpr int kMaxVectors = kRegisters == 32 ? 4 : 3;
constexpr std::size_t kCachedFloats = 4096;  // of inputs: half a first-level cache

/// The part of a picture that a tile is summed over.
struct Part {
  const float* input;  ///< of the tile's first weight at the first output
  std::size_t input_pitch;
  std::size_t input_step;
  const float* dy;  ///< of the tile's first filter at the first output
  std::size_t dy_pitch;
  std::size_t dy_step;
  int rows;
  int columns;
};

template <int kOutputs, int kVectors>
void filter_tile(const Part& part, float* to, std::size_t to_stride, int tail) {
  Lanes sum[kOutputs][kVectors];
  unrolled<kOutputs>([&](auto o) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA {
      const float* here = to + o * to_stride + v * kLanes;
      if constexpr (v + 1 < kVectors)
        sum[o][v] = load(here);
      else
        sum[o][v] = load_first(here, tail);
    });
  });
  for (int y = 0; y < part.rows; ++y) {
    const float* input = part.input + y * part.input_pitch;
    const float* dy = part.dy + y * part.dy_pitch;
    for (int x = 0; x < part.columns; ++x, input += part.input_step, dy += part.dy_step) {
      Lanes value[kVectors];
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { value[v] = load(input + v * kLanes); });
      unrolled<kOutputs>([&](auto o) FEDSTRIDE_INLINE_LAMBDA {
        const Lanes gradient = broadcast(dy[o]);
        unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[o][v] += gradient * value[v]; });
      });
    }
  }
  unrolled<kOutputs>([&](auto o) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA {
      float* here = to + o * to_stride + v * kLanes;
      if constexpr (v + 1 < kVectors)
        store(here, sum[o][v]);
      else
        store_first(here, sum[o][v], tail);
    });
  });
}

template <int kVectors, int... kIndex>
constexpr auto filter_tiles(std::integer_sequence<int, kIndex...>) {
  return std::array{&filter_tile<kIndex + 1, kVectors>...};
}
template <int... kIndex>
constexpr auto all_filter_tiles(std::integer_sequence<int, kIndex...>) {
  return std::array{filter_tiles<kIndex + 1>(std::make_integer_sequence<int, kMaxOutputs>{})...};
}
constexpr auto kFilterTiles = all_filter_tiles(std::make_integer_sequence<int, kMaxVectors>{});

}  // namespace

void conv_dense_filter_gradient(const ConvShape& shape, const float* input, const float* dy, int dy_channels, int filters,
                                float* filter_gradient) {
  const int stretch = shape.stretch();
  const int vectors = (stretch + kLanes - 1) / kLanes;
  const int vector_blocks = (vectors + kMaxVectors - 1) / kMaxVectors;
  const int filter_blocks = (filters + kMaxOutputs - 1) / kMaxOutputs;
  const auto filter_size = static_cast<std::size_t>(shape.filter_size());
  const int rows_at_once = static_cast<int>(std::max<std::size_t>(1, kCachedFloats / shape.pitch()));
  Part part{.input = nullptr,
            .input_pitch = shape.pitch() * shape.stride,
            .input_step = static_cast<std::size_t>(shape.stride) * shape.input.channels,
            .dy = nullptr,
            .dy_pitch = static_cast<std::size_t>(shape.output.width) * dy_channels,
            .dy_step = static_cast<std::size_t>(dy_channels),
            .rows = 0,
            .columns = shape.output.width};
  for (int y = 0; y < shape.output.height; y += rows_at_once) {
    part.rows = std::min(rows_at_once, shape.output.height - y);
    for (int ky = 0; ky < shape.kernel; ++ky) {
      for (int block = 0; block < vector_blocks; ++block) {
        const int v = vectors * block / vector_blocks, count = vectors * (block + 1) / vector_blocks - v;
        const int k = v * kLanes, tail = std::min(stretch - k - (count - 1) * kLanes, kLanes);
        part.input = input + shape.source(y, 0) + ky * shape.pitch() + k;
        for (int filter_block = 0; filter_block < filter_blocks; ++filter_block) {
          const int first = filters * filter_block / filter_blocks;
          const int outputs = filters * (filter_block + 1) / filter_blocks - first;
          part.dy = dy + y * part.dy_pitch + first;
          kFilterTiles[count - 1][outputs - 1](part, filter_gradient + first * filter_size + ky * stretch + k, filter_size, tail);
        }
      }
    }
  }
}

void sum_places(const float* dy, std::size_t places, int dy_channels, int filters, float* sums) {
  for (std::size_t place = 0; place < places; ++place, dy += dy_channels)
    for (int c = 0; c < filters; ++c) sums[c] += dy[c];
}

}  // namespace fedstride
