#include <algorithm>
#include <array>

#include "nn/kernels/winograd.hpp"
#include "nn/kernels/winograd_fields.hpp"

namespace fedstride {
namespace {

constexpr int kGradientTiles = 16;  // transformed and multiplied at once
constexpr int kMaxOutputs = 6;      // of a tile of sums in registers
constexpr int kMaxInputs = 2;       // vectors

/// A y: four values of one row or column of the outputs' gradients.
FEDSTRIDE_INLINE void transform_gradient(const Lanes (&y)[kTile], Lanes (&to)[kField]) {
  const Lanes a = y[0] + y[2];
  const Lanes b = y[1] + y[3];
  const Lanes c = y[0] + 4.0F * y[2];
  const Lanes e = 2.0F * y[1] + 8.0F * y[3];
  to[0] = y[0];
  to[1] = a + b;
  to[2] = a - b;
  to[3] = c + e;
  to[4] = c - e;
  to[5] = y[3];
}

/// G^T m: six sums of one row or column to three weights.
FEDSTRIDE_INLINE void transform_sums(const Lanes (&m)[kField], Lanes (&to)[3]) {
  const Lanes a = (m[1] + m[2]) * (1.0F / 6);
  const Lanes b = m[3] + m[4];
  to[0] = m[0] * 0.25F - a + b * (1.0F / 24);
  to[1] = (m[2] - m[1]) * (1.0F / 6) + (m[3] - m[4]) * (1.0F / 12);
  to[2] = b * (1.0F / 6) - a + m[5];
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
  unrolled<kOutputs>([&](auto o) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { sum[o][i] = load(sums + o * v_stride + i * kLanes); });
  });
  for (int t = 0; t < tiles; ++t, u += u_stride, v += v_stride) {
    Lanes value[kInputs];
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { value[i] = load(v + i * kLanes); });
    unrolled<kOutputs>([&](auto o) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes gradient = broadcast(u[o]);
      unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { sum[o][i] += gradient * value[i]; });
    });
  }
  unrolled<kOutputs>([&](auto o) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { store(sums + o * v_stride + i * kLanes, sum[o][i]); });
  });
}

template <int kInputs, int... kIndex>
constexpr auto sum_tiles(std::integer_sequence<int, kIndex...>) {
  return std::array{&sum_tile<kIndex + 1, kInputs>...};
}
template <int... kIndex>
constexpr auto all_sum_tiles(std::integer_sequence<int, kIndex...>) {
  return std::array{sum_tiles<kIndex + 1>(std::make_integer_sequence<int, kMaxOutputs>{})...};
}
constexpr auto kSumTiles = all_sum_tiles(std::make_integer_sequence<int, kMaxInputs>{});

}  // namespace

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
  const int blocks = (outputs + kMaxOutputs - 1) / kMaxOutputs;
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
        for (int block = 0; block < blocks; ++block) {
          const int o = outputs * block / blocks, here = outputs * (block + 1) / blocks - o;
          functions[static_cast<std::size_t>(here - 1)](u + f * u_stride + o, padded_, v + f * v_stride + i * kLanes,
                                                        static_cast<std::size_t>(inputs), count,
                                                        matrix + static_cast<std::size_t>(o) * inputs + i * kLanes);
        }
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
