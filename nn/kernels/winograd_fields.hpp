#pragma once

#include <cstddef>

#include "core/simd.hpp"

// Shared by the two files of Winograd's kernels.

namespace fedstride {

inline constexpr int kTile = 4;   // outputs a side
inline constexpr int kField = 6;  // inputs a side
inline constexpr int kProducts = kField * kField;

/// Distance between the 36 matrices of `size` floats: an odd number of cache lines, so that they fall into different sets.
inline std::size_t matrix_stride(std::size_t size) {
  const std::size_t lines = (size + 15) / 16;
  return (lines | 1) * 16;
}

/// B^T d: six values of one row or column of a field.
FEDSTRIDE_INLINE void transform_input(Lanes (&d)[kField]) {
  const Lanes a = d[4] - 4.0F * d[2];
  const Lanes b = d[3] - 4.0F * d[1];
  const Lanes c = d[4] - d[2];
  const Lanes e = 2.0F * (d[3] - d[1]);
  d[0] = 4.0F * d[0] + (d[4] - 5.0F * d[2]);
  d[5] = 4.0F * d[1] + (d[5] - 5.0F * d[3]);
  d[1] = a + b;
  d[2] = a - b;
  d[3] = c + e;
  d[4] = c - e;
}

/// v[f * stride + i] = (B^T d B)[f][i] of the field that begins at `from`; unless kWhole, values beyond rows x columns are
/// zero.
template <bool kWhole>
inline void field_to_matrices(const float* from, std::size_t pitch, int channels, int rows, int columns, float* v,
                              std::size_t stride) {
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

}  // namespace fedstride
