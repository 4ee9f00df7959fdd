#include <algorithm>

#include "core/simd.hpp"
#include "nn/kernels/conv.hpp"
#include "nn/kernels/tiles.hpp"

namespace fedstride {
namespace {

// A tile of results stays in registers: kMaxPositions neighboring outputs by kMaxVectors vectors of channels.
constexpr int kMaxPositions = 6;
constexpr int kMaxVectors = kRegisters == 32 ? 4 : 2;

template <int kPositions, int kVectors>
void conv_tile(const ConvShape& shape, const float* input, const float* packed, const float* bias, float* to,
               std::size_t to_stride) {
  Lanes sum[kPositions][kVectors];
  unrolled<kPositions>([&](auto p) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[p][v] = load(bias + v * kLanes); });
  });
  const std::size_t step = static_cast<std::size_t>(shape.stride) * shape.input.channels;
  const std::size_t pitch = shape.pitch();
  const int stretch = shape.stretch();
  for (int row = 0; row < shape.kernel; ++row) {
    const float* from = input + row * pitch;
    for (int k = 0; k < stretch; ++k, ++from) {
      Lanes weight[kVectors];
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { weight[v] = load(packed + v * kLanes); });
      unrolled<kPositions>([&](auto p) FEDSTRIDE_INLINE_LAMBDA {
        const Lanes value = broadcast(from[p * step]);
        unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[p][v] = fma(value, weight[v], sum[p][v]); });
      });
      packed += to_stride;
    }
  }
  store_tile(sum, to, to_stride);
}

constexpr auto kConvTiles =
    tile_table<kMaxVectors, kMaxPositions>([]<int kVectors, int kPositions>() { return &conv_tile<kPositions, kVectors>; });

}  // namespace

void pack_filters(const float* filters, int channels, int size, float* packed) {
  const std::size_t padded = whole_lanes(channels);
  for (int o = 0; o < channels; o += kLanes) {
    const int filters_here = std::min(kLanes, channels - o);
    for (int k = 0; k < size; k += kLanes) {
      const int weights_here = std::min(kLanes, size - k);
      Lanes block[kLanes];
      for (int i = 0; i < kLanes; ++i)
        block[i] = i < filters_here ? load_first(filters + static_cast<std::size_t>(o + i) * size + k, weights_here) : Lanes{};
      transpose(block);
      for (int i = 0; i < weights_here; ++i) store(packed + (k + i) * padded + o, block[i]);
    }
  }
}

void add_border(const float* from, Shape shape, int border, float* to) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  const std::size_t length = shape.width * channels, side = border * channels, pitch = length + 2 * side;
  std::fill_n(to, border * pitch, 0.0F);
  to += border * pitch;
  for (int y = 0; y < shape.height; ++y, from += length) {
    std::fill_n(to, side, 0.0F);
    std::copy_n(from, length, to + side);
    std::fill_n(to + side + length, side, 0.0F);
    to += pitch;
  }
  std::fill_n(to, border * pitch, 0.0F);
}

void conv_row(const ConvShape& shape, const float* input, const float* packed, const float* bias, int y, float* to) {
  const std::size_t padded = whole_lanes(shape.output.channels);
  const int vectors = static_cast<int>(padded) / kLanes;
  for (int v = 0; v < vectors; v += kMaxVectors) {
    const auto& tiles = kConvTiles[std::min(kMaxVectors, vectors - v) - 1];
    for_blocks(shape.output.width, kMaxPositions, [&](int x, int count) {
      tiles[count - 1](shape, input + shape.source(y, x), packed + v * kLanes, bias + v * kLanes, to + x * padded + v * kLanes,
                       padded);
    });
  }
}

}  // namespace fedstride
