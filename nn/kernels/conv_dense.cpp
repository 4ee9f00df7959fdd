#include <algorithm>

#include "core/simd.hpp"
#include "nn/kernels/conv.hpp"
#include "nn/kernels/tiles.hpp"

namespace fedstride {
namespace {

// A tile of a filter's gradient stays in registers: kMaxOutputs filters by kMaxVectors vectors of a kernel row.
constexpr int kMaxOutputs = kRegisters == 32 ? 6 : 4;
constexpr int kMaxVectors = kRegisters == 32 ? 4 : 3;
constexpr std::size_t kCachedFloats = 4096;  // inputs: half a first-level cache

/// The part of an image over which a tile is summed.
struct Part {
  const float* input;  ///< for the tile's first weight at the first output
  std::size_t input_pitch;
  std::size_t input_step;
  const float* dy;  ///< for the tile's first filter at the first output
  std::size_t dy_pitch;
  std::size_t dy_step;
  int rows;
  int columns;
};

template <int kOutputs, int kVectors>
void filter_tile(const Part& part, float* to, std::size_t to_stride, int tail) {
  Lanes sum[kOutputs][kVectors];
  load_tile(sum, to, to_stride, tail);
  for (int y = 0; y < part.rows; ++y) {
    const float* input = part.input + y * part.input_pitch;
    const float* dy = part.dy + y * part.dy_pitch;
    for (int x = 0; x < part.columns; ++x, input += part.input_step, dy += part.dy_step) {
      Lanes value[kVectors];
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { value[v] = load(input + v * kLanes); });
      unrolled<kOutputs>([&](auto o) FEDSTRIDE_INLINE_LAMBDA {
        const Lanes gradient = broadcast(dy[o]);
        unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[o][v] = fma(gradient, value[v], sum[o][v]); });
      });
    }
  }
  store_tile(sum, to, to_stride, tail);
}

constexpr auto kFilterTiles =
    tile_table<kMaxVectors, kMaxOutputs>([]<int kVectors, int kOutputs>() { return &filter_tile<kOutputs, kVectors>; });

}  // namespace

void conv_dense_filter_gradient(const ConvShape& shape, const float* input, const float* dy, int dy_channels, int filters,
                                float* filter_gradient) {
  const int stretch = shape.stretch();
  const int vectors = (stretch + kLanes - 1) / kLanes;
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
      for_blocks(vectors, kMaxVectors, [&](int v, int count) {
        const int k = v * kLanes, tail = std::min(stretch - k - (count - 1) * kLanes, kLanes);
        part.input = input + shape.source(y, 0) + ky * shape.pitch() + k;
        for_blocks(filters, kMaxOutputs, [&](int first, int outputs) {
          part.dy = dy + y * part.dy_pitch + first;
          kFilterTiles[count - 1][outputs - 1](part, filter_gradient + first * filter_size + ky * stretch + k, filter_size, tail);
        });
      });
    }
  }
}

void sum_places(const float* dy, std::size_t places, int dy_channels, int filters, float* sums) {
  for (std::size_t place = 0; place < places; ++place, dy += dy_channels)
    for (int c = 0; c < filters; ++c) sums[c] += dy[c];
}

}  // namespace fedstride
