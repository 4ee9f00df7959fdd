#include "nn/kernels/winograd.hpp"

#include <algorithm>

#include "nn/kernels/tiles.hpp"

namespace fedstride {
namespace {

constexpr int kTile = 4;   // outputs per side
constexpr int kField = 6;  // inputs per side
constexpr int kProducts = kField * kField;

/// Distance between consecutive matrices of `size` floats: an odd number of cache lines, so they map to different cache sets.
std::size_t matrix_stride(std::size_t size) {
  const std::size_t lines = (size + 15) / 16;
  return (lines | 1) * 16;
}

/// B^T d: six values of one row or column of a field.
FEDSTRIDE_INLINE void transform_input(Lanes (&d)[kField]) {
  const Lanes a = fma(d[2], -4.0F, d[4]);
  const Lanes b = fma(d[1], -4.0F, d[3]);
  const Lanes c = d[4] - d[2];
  const Lanes e = 2.0F * (d[3] - d[1]);
  d[0] = fma(d[0], 4.0F, fma(d[2], -5.0F, d[4]));
  d[5] = fma(d[1], 4.0F, fma(d[3], -5.0F, d[5]));
  d[1] = a + b;
  d[2] = a - b;
  d[3] = c + e;
  d[4] = c - e;
}

/// v[f * stride + i] = (B^T d B)[f][i] of the field that begins at `from`; unless kWhole, values beyond rows x columns count as
/// zeros.
template <bool kWhole>
void field_to_matrices(const float* from, std::size_t pitch, int channels, int rows, int columns, float* v, std::size_t stride) {
  for (int i = 0; i < channels; i += kLanes) {
    Lanes d[kField][kField];  // [column][row], then [column][transformed row]
    for (int x = 0; x < kField; ++x) {
      Lanes column[kField];
      unrolled<kField>([&](auto y) FEDSTRIDE_INLINE_LAMBDA {
        const float* value = from + y * pitch + static_cast<std::size_t>(x) * channels + i;
        column[y] = kWhole || (y < rows && x < columns) ? load(value) : Lanes{};
      });
      transform_input(column);
      for (int y = 0; y < kField; ++y) d[x][y] = column[y];
    }
    for (int y = 0; y < kField; ++y) {
      Lanes row[kField];
      for (int x = 0; x < kField; ++x) row[x] = d[x][y];
      transform_input(row);
      for (int x = 0; x < kField; ++x) store(v + (y * kField + x) * stride + i, row[x]);
    }
  }
}

constexpr int kTilesAtOnce = 24;
constexpr int kMaxRows = 6;  // rows of a tile of results in registers
constexpr int kMaxVectors = kRegisters == 32 ? 4 : 2;

/// G g: three values of one row or column of a filter.
FEDSTRIDE_INLINE void transform_filter(Lanes g0, Lanes g1, Lanes g2, Lanes (&to)[kField]) {
  const Lanes a = (g0 + g2) * (-1.0F / 6);
  const Lanes b = g1 * (1.0F / 6);
  const Lanes c = fma(g0, 1.0F / 24, g2 * (1.0F / 6));
  const Lanes e = g1 * (1.0F / 12);
  to[0] = g0 * 0.25F;
  to[1] = a - b;
  to[2] = a + b;
  to[3] = c + e;
  to[4] = c - e;
  to[5] = g2;
}

/// A^T m: turns six sums of products in one row or column into four outputs.
FEDSTRIDE_INLINE void transform_output(const Lanes (&m)[kField], Lanes (&to)[kTile]) {
  const Lanes a = m[1] + m[2];
  const Lanes b = m[1] - m[2];
  const Lanes c = m[3] + m[4];
  const Lanes e = m[3] - m[4];
  to[0] = m[0] + a + c;
  to[1] = fma(e, 2.0F, b);
  to[2] = fma(c, 4.0F, a);
  to[3] = fma(e, 8.0F, b) + m[5];
}

template <int kRows, int kVectors>
void product_tile(const float* v, std::size_t v_stride, const float* u, std::size_t u_stride, int depth, float* m) {
  Lanes sum[kRows][kVectors] = {};
  for (int k = 0; k < depth; ++k, ++v, u += u_stride) {
    Lanes weight[kVectors];
    unrolled<kVectors>([&](auto c) FEDSTRIDE_INLINE_LAMBDA { weight[c] = load(u + c * kLanes); });
    unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes value = broadcast(v[r * v_stride]);
      unrolled<kVectors>([&](auto c) FEDSTRIDE_INLINE_LAMBDA { sum[r][c] = fma(value, weight[c], sum[r][c]); });
    });
  }
  store_tile(sum, m, u_stride);
}

constexpr auto kProductTiles =
    tile_table<kMaxVectors, kMaxRows>([]<int kVectors, int kRows>() { return &product_tile<kRows, kVectors>; });

/// m[t][o] = sum_i v[t][i] u[i][o].
void product(const float* v, int tiles, int depth, const float* u, std::size_t padded, float* m) {
  const int vectors = static_cast<int>(padded) / kLanes;
  for (int c = 0; c < vectors; c += kMaxVectors) {
    const auto& functions = kProductTiles[std::min(kMaxVectors, vectors - c) - 1];
    for_blocks(tiles, kMaxRows, [&](int first, int count) {
      functions[count - 1](v + static_cast<std::size_t>(first) * depth, depth, u + c * kLanes, padded, depth,
                           m + first * padded + c * kLanes);
    });
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

// The backward pass.

constexpr int kGradientTiles = 16;  // tiles transformed and multiplied at once
constexpr int kMaxOutputs = 6;      // outputs of a tile of sums in registers
constexpr int kMaxInputs = 2;       // vectors

/// A y: transforms four output gradients of one row or column.
FEDSTRIDE_INLINE void transform_gradient(const Lanes (&y)[kTile], Lanes (&to)[kField]) {
  const Lanes a = y[0] + y[2];
  const Lanes b = y[1] + y[3];
  const Lanes c = fma(y[2], 4.0F, y[0]);
  const Lanes e = fma(y[3], 8.0F, 2.0F * y[1]);
  to[0] = y[0];
  to[1] = a + b;
  to[2] = a - b;
  to[3] = c + e;
  to[4] = c - e;
  to[5] = y[3];
}

/// G^T m: turns six sums in one row or column into three weights.
FEDSTRIDE_INLINE void transform_sums(const Lanes (&m)[kField], Lanes (&to)[3]) {
  const Lanes a = (m[1] + m[2]) * (1.0F / 6);
  const Lanes b = m[3] + m[4];
  to[0] = fma(b, 1.0F / 24, fma(m[0], 0.25F, -a));
  to[1] = fma(m[2] - m[1], 1.0F / 6, (m[3] - m[4]) * (1.0F / 12));
  to[2] = fma(b, 1.0F / 6, m[5] - a);
}

/// u[f * stride + o] = (A dy A^T)[f][o] of the tile that begins at `from`; values beyond rows x columns count as zeros.
void gradients_to_matrices(const float* from, std::size_t pitch, int channels, int rows, int columns, float* u,
                           std::size_t stride) {
  for (int o = 0; o < channels; o += kLanes) {
    Lanes half[kTile][kField];  // [column][transformed row]
    for (int x = 0; x < kTile; ++x) {
      Lanes column[kTile];
      for (int y = 0; y < kTile; ++y)
        column[y] = y < rows && x < columns ? load(from + y * pitch + static_cast<std::size_t>(x) * channels + o) : Lanes{};
      transform_gradient(column, half[x]);
    }
    for (int y = 0; y < kField; ++y) {
      Lanes row[kTile];
      for (int x = 0; x < kTile; ++x) row[x] = half[x][y];
      Lanes outputs[kField];
      transform_gradient(row, outputs);
      for (int x = 0; x < kField; ++x) store(u + (y * kField + x) * stride + o, outputs[x]);
    }
  }
}

/// sums[o][i] += sum over tiles of u[tile][o] v[tile][i].
template <int kOutputs, int kInputs>
void sum_tile(const float* u, std::size_t u_stride, const float* v, std::size_t v_stride, int tiles, float* sums) {
  Lanes sum[kOutputs][kInputs];
  load_tile(sum, sums, v_stride);
  for (int t = 0; t < tiles; ++t, u += u_stride, v += v_stride) {
    Lanes value[kInputs];
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { value[i] = load(v + i * kLanes); });
    unrolled<kOutputs>([&](auto o) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes gradient = broadcast(u[o]);
      unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { sum[o][i] = fma(gradient, value[i], sum[o][i]); });
    });
  }
  store_tile(sum, sums, v_stride);
}

constexpr auto kSumTiles =
    tile_table<kMaxInputs, kMaxOutputs>([]<int kInputs, int kOutputs>() { return &sum_tile<kOutputs, kInputs>; });

}  // namespace

bool winograd_fits(const ConvShape& shape) {
  return shape.kernel == 3 && shape.stride == 1 && shape.input.channels % kSumLanes == 0 && shape.input.channels >= 16 &&
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

bool Winograd::gradient_pays() const {
  constexpr int kMinTiles = 8;
  constexpr int kMaxProducts = 64 * 64;
  return rows_ * columns_ >= kMinTiles && shape_.input.channels * shape_.output.channels <= kMaxProducts;
}

std::size_t Winograd::gradient_size() const {
  return static_cast<std::size_t>(kProducts) * shape_.output.channels * shape_.input.channels;
}

std::size_t Winograd::gradient_scratch_size() const {
  return kProducts * (matrix_stride(static_cast<std::size_t>(kGradientTiles) * shape_.input.channels) +
                      matrix_stride(kGradientTiles * padded_));
}

void Winograd::add_gradient(const float* input, const float* dy, float* scratch, float* sums) const {
  const int inputs = shape_.input.channels, outputs = shape_.output.channels;
  const std::size_t pitch = shape_.pitch(), dy_pitch = static_cast<std::size_t>(shape_.output.width) * outputs;
  const std::size_t v_stride = matrix_stride(static_cast<std::size_t>(kGradientTiles) * inputs);
  const std::size_t u_stride = matrix_stride(kGradientTiles * padded_);
  float* const v = scratch;
  float* const u = scratch + kProducts * v_stride;
  const int tiles = rows_ * columns_;
  const int vectors = inputs / kLanes;
  for (int first = 0; first < tiles; first += kGradientTiles) {
    const int count = std::min(kGradientTiles, tiles - first);
    for (int t = 0; t < count; ++t) {
      const int y = (first + t) / columns_ * kTile, x = (first + t) % columns_ * kTile;
      const int rows = shape_.input.height - y, columns = shape_.input.width - x;
      const auto transform = rows >= kField && columns >= kField ? &field_to_matrices<true> : &field_to_matrices<false>;
      transform(input + y * pitch + static_cast<std::size_t>(x) * inputs, pitch, inputs, rows, columns,
                v + static_cast<std::size_t>(t) * inputs, v_stride);
      gradients_to_matrices(dy + y * dy_pitch + static_cast<std::size_t>(x) * outputs, dy_pitch, outputs,
                            shape_.output.height - y, shape_.output.width - x, u + static_cast<std::size_t>(t) * padded_,
                            u_stride);
    }
    for (int f = 0; f < kProducts; ++f) {
      float* const matrix = sums + static_cast<std::size_t>(f) * outputs * inputs;
      for (int i = 0; i < vectors; i += kMaxInputs) {
        const auto& functions = kSumTiles[static_cast<std::size_t>(std::min(kMaxInputs, vectors - i) - 1)];
        for_blocks(outputs, kMaxOutputs, [&](int o, int here) {
          functions[static_cast<std::size_t>(here - 1)](u + f * u_stride + o, padded_, v + f * v_stride + i * kLanes,
                                                        static_cast<std::size_t>(inputs), count,
                                                        matrix + static_cast<std::size_t>(o) * inputs + i * kLanes);
        });
      }
    }
  }
}

void Winograd::finish_gradient(const float* sums, float* filter_gradient) const {
  const int inputs = shape_.input.channels, outputs = shape_.output.channels;
  const std::size_t matrix = static_cast<std::size_t>(outputs) * inputs;
  for (int o = 0; o < outputs; ++o) {
    for (int i = 0; i < inputs; i += kLanes) {
      const float* from = sums + static_cast<std::size_t>(o) * inputs + i;
      Lanes half[kField][3];  // [column][filter's row]
      for (int x = 0; x < kField; ++x) {
        Lanes column[kField];
        for (int y = 0; y < kField; ++y) column[y] = load(from + (y * kField + x) * matrix);
        transform_sums(column, half[x]);
      }
      for (int y = 0; y < 3; ++y) {
        Lanes row[kField];
        for (int x = 0; x < kField; ++x) row[x] = half[x][y];
        Lanes weights[3];
        transform_sums(row, weights);
        for (int x = 0; x < 3; ++x)
          store(filter_gradient + ((static_cast<std::size_t>(o) * 3 + y) * 3 + x) * inputs + i, weights[x]);
      }
    }
  }
}

}  // namespace fedstride
