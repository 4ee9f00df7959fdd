#pragma once

#include <cstddef>

#include "core/simd.hpp"
#include "nn/kernels/buffer.hpp"

namespace fedstride {

// Products of a dense layer, weights w[input][output] without gaps. Rows of activations have `stride` >= the number of
// outputs rounded up to whole vectors; what lies behind the outputs is zero and stays zero.

/// Rows of a tile of results.
inline constexpr int kTileRows = kRegisters == 32 ? 12 : 6;
inline constexpr int kFusedRows = kTileRows;
inline constexpr int kPanelWidth = 2 * kLanes;

/// y[r][o] = bias[o] + sum_i x[r][i] w[i][o] for outputs [first, last), first a multiple of kLanes; bias may be null.
/// relu: negative results become zero.
void dense_forward(Rows x, int rows, int inputs, const float* w, int outputs, const float* bias, bool relu, Rows y,
                   int first, int last);

/// dx[r][i] = sum_o dy[r][o] w[i][o] for inputs [first, last).
void dense_data_gradient(Rows dy, int rows, const float* w, int outputs, Rows dx, int first, int last);

/// dw[i - first][o] = sum_r x[r][i] dy[r][o] for inputs [first, last), without gaps.
void dense_weight_gradient(Rows x, Rows dy, int rows, int outputs, int first, int last, float* dw);

/// The two above in one, which pays for at most kFusedRows rows.
void dense_both_gradients(Rows x, Rows dy, int rows, const float* w, int outputs, Rows dx, int first, int last,
                          float* dw);

/// Gradients of a large batch's outputs, times a factor an example, as the product below reads them: panels of
/// kPanelWidth outputs, in each of them example after example. Examples with factor 0 are left out.
struct PackedGradients {
  const float* data = nullptr;  ///< packed_size(count, outputs) floats
  const int* rows = nullptr;    ///< which examples are there
  int count = 0;
};

std::size_t packed_size(int rows, int outputs);

/// Packs rows 0 ... rows - 1 of dy into `to`, the numbers of those left into `kept` (`rows` of them at most). Without
/// factors every row is taken as it is.
PackedGradients pack_gradients(Rows dy, int rows, int outputs, const float* factors, float* to, int* kept);

/// dw[i - first][o] = sum over the packed examples of x[r][i] times gradient.
void dense_weight_gradient(Rows x, const PackedGradients& dy, int outputs, int first, int last, float* dw);

/// sums[o] = sum of the packed examples' gradients, for the whole vectors of outputs.
void column_sums(const PackedGradients& dy, int outputs, float* sums);

/// sum_r dy[r][o], for the whole vectors of outputs.
void column_sums(Rows dy, int rows, int outputs, float* sums);

/// gradient[r][i] = 0 where value[r][i] is not positive, for the first `size` of each row.
void relu_mask(Rows value, Rows gradient, int rows, std::size_t size);

}  // namespace fedstride
