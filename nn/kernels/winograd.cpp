#include "nn/kernels/winograd.hpp"

#include <algorithm>
#include <array>

#include "core/simd.hpp"
#include "nn/kernels/winograd_fields.hpp"

namespace fedstride {
namespace {

constexpr int kTilesAtOnce = 24;
constexpr int kMaxRows = 6;  // a tile of results in registers
constexpr int kMaxVectors = kRegisters == 32 ? 4 : 2;

/// G g: three values of one row or column of a filter.
FEDSTRIDE_INLINE void transform_filter(Lanes g0, Lanes g1, Lanes g2, Lanes (&to)[kField]) {
  const Lanes a = (g0 + g2) * (-1.0F / 6);
  const Lanes b = g1 * (1.0F / 6);
  const Lanes c = g0 * (1.0F / 24) + g2 * (1.0F / 6);
  const Lanes e = g1 * (1.0F / 12);
  to[0] = g0 * 0.25F;
  to[1] = a - b;
  to[2] = a + b;
  to[3] = c + e;
  to[4] = c - e;
  to[5] = g2;
}

/// A^T m: six products' sums of one row or column to four outputs.
FEDSTRIDE_INLINE void transform_output(const Lanes (&m)[kField], Lanes (&to)[kTile]) {
  const Lanes a = m[1] + m[2];
  const Lanes b = m[1] - m[2];
  const Lanes c = m[3] + m[4];
  const Lanes e = m[3] - m[4];
  to[0] = m[0] + a + c;
  to[1] = b + 2.0F * e;
  to[2] = a + 4.0F * c;
  to[3] = b + 8.0F * e + m[5];
}

template <int kRows, int kVectors>
void product_tile(const float* v, std::size_t v_stride, const float* u, std::size_t u_stride, int depth, float* m) {
  Lanes sum[kRows][kVectors] = {};
  for (int k = 0; k < depth; ++k, ++v, u += u_stride) {
    Lanes weight[kVectors];
    unrolled<kVectors>([&](auto c) FEDSTRIDE_INLINE_LAMBDA { weight[c] = load(u + c * kLanes); });
    unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes value = broadcast(v[r * v_stride]);
      unrolled<kVectors>([&](auto c) FEDSTRIDE_INLINE_LAMBDA { sum[r][c] += value * weight[c]; });
    });
  }
  unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors>([&](auto c) FEDSTRIDE_INLINE_LAMBDA { store(m + r * u_stride + c * kLanes, sum[r][c]); });
  });
}

template <int kVectors, int... kIndex>
constexpr auto product_tiles(std::integer_sequence<int, kIndex...>) {
  return std::array{&product_tile<kIndex + 1, kVectors>...};
}
template <int... kIndex>
constexpr auto all_product_tiles(std::integer_sequence<int, kIndex...>) {
  return std::array{product_tiles<kIndex + 1>(std::make_integer_sequence<int, kMaxRows>{})...};
}
constexpr auto kProductTiles = all_product_tiles(std::make_integer_sequence<int, kMaxVectors>{});

/// m[t][o] = sum_i v[t][i] u[i][o].
void product(const float* v, int tiles, int depth, const float* u, std::size_t padded, float* m) {
  const int blocks = (tiles + kMaxRows - 1) / kMaxRows;
  const int vectors = static_cast<int>(padded) / kLanes;
  for (int c = 0; c < vectors; c += kMaxVectors) {
    const auto& functions = kProductTiles[std::min(kMaxVectors, vectors - c) - 1];
    for (int block = 0; block < blocks; ++block) {
      const int first = tiles * block / blocks;
      const int count = tiles * (block + 1) / blocks - first;
      functions[count - 1](v + static_cast<std::size_t>(first) * depth, depth, u + c * kLanes, padded, depth,
                           m + first * padded + c * kLanes);
    }
  }
}

/// to[y * pitch + x * padded + o] = bias[o] + (A^T m A)[y][x][o].
void matrices_to_outputs(const float* m, std::size_t stride, std::size_t padded, const float* bias, float* to,
                         std::size_t pitch) {
  for (std::size_t o = 0; o < padded; o += kLanes) {
    Lanes half[kField][kTile];  // [column][output row]
    for (int x = 0; x < kField; ++x) {
      Lanes column[kField];
      for (int y = 0; y < kField; ++y) column[y] = load(m + (y * kField + x) * stride + o);
      transform_output(column, half[x]);
    }
    const Lanes start = load(bias + o);
    for (int y = 0; y < kTile; ++y) {
      Lanes row[kField];
      for (int x = 0; x < kField; ++x) row[x] = half[x][y];
      Lanes outputs[kTile];
      transform_output(row, outputs);
      for (int x = 0; x < kTile; ++x) store(to + y * pitch + x * padded + o, outputs[x] + start);
    }
  }
}

}  // namespace

bool winograd_fits(const ConvShape& shape) {
  return shape.kernel == 3 && shape.stride == 1 && shape.input.channels % kLanes == 0 && shape.input.channels >= 16 &&
         shape.output.channels >= 16 && shape.output.height >= kTile && shape.output.width >= kTile;
}

Winograd::Winograd(const ConvShape& shape)
    : shape_(shape),
      rows_((shape.output.height + kTile - 1) / kTile),
      columns_((shape.output.width + kTile - 1) / kTile),
      padded_(whole_lanes(static_cast<std::size_t>(shape.output.channels))) {
  const int tiles = rows_ * columns_;
  group_ = std::clamp(kTilesAtOnce / tiles, 1, kMaxGroup);
  const int chunks = (group_ * tiles + kTilesAtOnce - 1) / kTilesAtOnce;
  chunk_ = (group_ * tiles + chunks - 1) / chunks;
}

std::size_t Winograd::filters_size() const { return kProducts * shape_.input.channels * padded_; }
std::size_t Winograd::output_pitch() const { return columns_ * kTile * padded_; }
std::size_t Winograd::output_size() const { return rows_ * kTile * output_pitch(); }
std::size_t Winograd::scratch_size() const {
  return kProducts * (matrix_stride(static_cast<std::size_t>(chunk_) * shape_.input.channels) + matrix_stride(chunk_ * padded_));
}

void Winograd::transform_filters(const float* packed, float* filters) const {
  const int inputs = shape_.input.channels;
  const std::size_t matrix = inputs * padded_;
  for (int i = 0; i < inputs; ++i) {
    for (std::size_t o = 0; o < padded_; o += kLanes) {
      const float* from = packed + i * padded_ + o;
      Lanes half[3][kField];  // [column][transformed row]
      for (int x = 0; x < 3; ++x)
        transform_filter(load(from + x * matrix), load(from + (3 + x) * matrix), load(from + (6 + x) * matrix), half[x]);
      for (int y = 0; y < kField; ++y) {
        Lanes row[kField];
        transform_filter(half[0][y], half[1][y], half[2][y], row);
        for (int x = 0; x < kField; ++x) store(filters + (y * kField + x) * matrix + i * padded_ + o, row[x]);
      }
    }
  }
}

void Winograd::forward(const float* const* inputs, int pictures, const float* filters, const float* bias, float* scratch,
                       float* const* to) const {
  const int channels = shape_.input.channels;
  const int tiles = rows_ * columns_;
  const std::size_t pitch = shape_.pitch();
  const std::size_t v_stride = matrix_stride(static_cast<std::size_t>(chunk_) * channels);
  const std::size_t m_stride = matrix_stride(chunk_ * padded_);
  float* v = scratch;
  float* m = scratch + kProducts * v_stride;
  const auto for_tiles = [&](int first, int count, auto&& body) {
    for (int t = 0; t < count; ++t) {
      const int picture = (first + t) / tiles;
      const int tile = (first + t) % tiles;
      body(t, picture, tile / columns_ * kTile, tile % columns_ * kTile);
    }
  };
  for (int first = 0; first < pictures * tiles; first += chunk_) {
    const int count = std::min(chunk_, pictures * tiles - first);
    for_tiles(first, count, [&](int t, int picture, int y, int x) {
      const int rows = shape_.input.height - y, columns = shape_.input.width - x;
      const auto transform = rows >= kField && columns >= kField ? &field_to_matrices<true> : &field_to_matrices<false>;
      transform(inputs[picture] + y * pitch + static_cast<std::size_t>(x) * channels, pitch, channels, rows, columns,
                v + static_cast<std::size_t>(t) * channels, v_stride);
    });
    for (int f = 0; f < kProducts; ++f)
      product(v + f * v_stride, count, channels, filters + f * channels * padded_, padded_, m + f * m_stride);
    for_tiles(first, count, [&](int t, int picture, int y, int x) {
      matrices_to_outputs(m + t * padded_, m_stride, padded_, bias, to[picture] + y * output_pitch() + x * padded_,
                          output_pitch());
    });
  }
}

}  // namespace fedstride
