#pragma once

#include <cstddef>

#include "nn/kernels/buffer.hpp"

namespace fedstride {

// Products of a dense layer, weights w[input][output] without gaps. Rows of activations have `stride` >= the number of
// outputs rounded up to whole vectors; what lies behind the outputs is zero and stays zero.

/// y[r][o] = bias[o] + sum_i x[r][i] w[i][o] for outputs [first, last), first a multiple of kLanes; bias may be null.
/// relu: negative results become zero.
void dense_forward(Rows x, int rows, int inputs, const float* w, int outputs, const float* bias, bool relu, Rows y,
                   int first, int last);

/// dx[r][i] = sum_o dy[r][o] w[i][o] for inputs [first, last).
void dense_data_gradient(Rows dy, int rows, const float* w, int outputs, Rows dx, int first, int last);

/// dw[i - first][o] = sum_r x[r][i] dy[r][o] for inputs [first, last), without gaps.
void dense_weight_gradient(Rows x, Rows dy, int rows, int outputs, int first, int last, float* dw);

/// The two above in one.
void dense_both_gradients(Rows x, Rows dy, int rows, const float* w, int outputs, Rows dx, int first, int last,
                          float* dw);

/// sum_r dy[r][o], for the whole vectors of outputs.
void column_sums(Rows dy, int rows, int outputs, float* sums);

/// gradient[r][i] = 0 where value[r][i] is not positive, for the first `size` of each row.
void relu_mask(Rows value, Rows gradient, int rows, std::size_t size);

}  // namespace fedstride
