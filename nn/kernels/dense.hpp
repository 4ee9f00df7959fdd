#pragma once

#include <cstddef>

#include "core/simd.hpp"
#include "nn/kernels/buffer.hpp"

namespace fedstride {

// Products of a dense layer with weights w[input][output] without gaps. Rows of activations have `stride` >= the number of
// outputs rounded up to whole vectors; values after the outputs are zero and stay zero.

/// The number of rows in a tile of results.
inline constexpr int kTileRows = kRegisters == 32 ? 12 : 6;
inline constexpr int kFusedRows = kTileRows;
/// True if the output gradients exceed the first-level cache: dense_weight_gradient() then reads them once for
/// kPackedInputs inputs.
bool packs_weight_gradient(int rows, int outputs);
inline constexpr int kPackedInputs = 128;

/// y[r][o] = bias[o] + sum_i x[r][i] w[i][o] for outputs [first, last), first a multiple of kLanes; bias may be null.
/// relu: negative results become zero.
void dense_forward(Rows x, int rows, int inputs, const float* w, int outputs, const float* bias, bool relu, Rows y, int first,
                   int last);

/// Packs weights for many products of few rows each, in the order in which dense_forward_packed() reads them, into
/// packed_weights_size() floats.
std::size_t packed_weights_size(int inputs, int outputs);
void pack_weights(const float* w, int inputs, int outputs, float* to);
/// dense_forward() for all outputs, without a ReLU.
void dense_forward_packed(Rows x, int rows, int inputs, const float* packed, int outputs, const float* bias, Rows y);

/// dx[r][i] = sum_o dy[r][o] w[i][o] for inputs [first, last).
void dense_data_gradient(Rows dy, int rows, const float* w, int outputs, Rows dx, int first, int last);

/// y[r][c] = sum_i a[r][i] b[c][i] for i < size; rows of a and b are a_stride and b_stride apart.
void row_products(const float* a, std::size_t a_stride, int rows, const float* b, std::size_t b_stride, int columns, int size,
                  Rows y);

/// Packs weights for many calls of dense_data_gradient_packed(), into packed_by_lane_size() floats.
std::size_t packed_by_lane_size(int inputs, int outputs);
void pack_weights_by_lane(const float* w, int inputs, int outputs, float* to);
/// dense_data_gradient() for all inputs.
void dense_data_gradient_packed(Rows dy, int rows, const float* packed, int inputs, int outputs, Rows dx);

/// Gradients of a layer's outputs, for all examples in order or for some of them.
struct OutputGradients {
  Rows values;
  int count = 0;
  const int* examples = nullptr;  ///< row k belongs to example examples[k]; null: to example k
};

/// Row k of `to` becomes the k-th nonzero factor times its example's gradient; `examples` (room for `rows`) receives the
/// examples' indices.
OutputGradients scaled_gradients(Rows dy, int rows, int outputs, const float* factors, Rows to, int* examples);

/// dw[i - first][o] = sum_k x[example of k][i] dy[k][o] for inputs [first, last), without gaps.
void dense_weight_gradient(Rows x, const OutputGradients& dy, int outputs, int first, int last, float* dw);

/// The same in double, in which the products are exact.
void dense_weight_sums(Rows x, const OutputGradients& dy, int outputs, int first, int last, double* dw);

/// Computes data and weight gradients at once, which pays off for at most kFusedRows rows.
void dense_both_gradients(Rows x, Rows dy, int rows, const float* w, int outputs, Rows dx, int first, int last, float* dw);

/// sum_k dy[k][o], for whole vectors of outputs.
void column_sums(const OutputGradients& dy, int outputs, float* sums);

/// gradient[r][i] = 0 unless value[r][i] is positive, for the first `size` values of each row.
void relu_mask(Rows value, Rows gradient, int rows, std::size_t size);

}  // namespace fedstride
