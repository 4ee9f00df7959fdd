#pragma once

#include <cstddef>

namespace fedstride {

/// The queries, keys and values of a sequence, `size` values each one behind the other at every position, cut into heads.
struct AttentionShape {
  int positions = 1;
  int size = 1;
  int heads = 1;
  std::size_t input_stride = 0;   ///< floats from position to position of queries, keys and values
  std::size_t output_stride = 0;  ///< and of the outputs
};

/// Each position t of each head: the mean of the values at 0 ... t by softmax(q_t . k_s / sqrt(size / heads)).
/// `weights` receives these, heads x positions x positions.
void attention_forward(const AttentionShape& shape, const float* input, float* weights, float* output);

/// The gradient by queries, keys and values. `scratch` has room for 2 x positions floats and a vector.
void attention_backward(const AttentionShape& shape, const float* input, const float* weights, const float* d_output,
                        float* scratch, float* d_input);

}  // namespace fedstride
