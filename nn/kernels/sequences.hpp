#pragma once

#include <cstddef>

namespace fedstride {

/// The queries, keys and values of a sequence, `size` values each, stored together at every position and split into heads.
struct AttentionShape {
  int positions = 1;
  int size = 1;
  int heads = 1;
  std::size_t input_stride = 0;   ///< floats from position to position in queries, keys and values
  std::size_t output_stride = 0;  ///< the same for outputs
};

/// For each position t of each head: the mean of the values at 0 ... t weighted by softmax(q_t . k_s / sqrt(size / heads)).
/// `weights` receives these weights, heads x positions x positions.
void attention_forward(const AttentionShape& shape, const float* input, float* weights, float* output);

/// Computes the gradient with respect to queries, keys and values. `scratch` has room for positions x
/// positions floats.
void attention_backward(const AttentionShape& shape, const float* input, const float* weights, const float* d_output,
                        float* scratch, float* d_input);

// One step of a recurrent layer for one example. Gates are stored one after another, `units` values each: before the step, they
// hold the products with the input; after it, the gates' values. `recurrent` holds the products with the previous step's output.
// Gradients are named d... .

/// Input, forget, cell and output gates i, f, g, o: c = f c' + i g, h = o tanh(c).
void lstm_forward(int units, float* gates, const float* recurrent, const float* last_cell, float* cell, float* output);

/// Takes the gradients with respect to the output and, in d_cell, to this step's cell. Computes the gradients with respect to the
/// gates' products and, in d_cell, to the previous step's cell.
void lstm_backward(int units, const float* gates, const float* last_cell, const float* cell, const float* d_output, float* d_cell,
                   float* d_gates);

/// Reset gate, update gate and candidate r, z, n = tanh(x_n + r kept): h = (1 - z) n + z h'; `kept` receives the recurrent
/// product of n.
void gru_forward(int units, float* gates, const float* recurrent, const float* last_output, float* kept, float* output);

/// From the gradient with respect to the output, computes the gradients with respect to the products with the input and with the
/// previous output, and the part of the gradient with respect to the previous output that bypasses the product.
void gru_backward(int units, const float* gates, const float* last_output, const float* kept, const float* d_output,
                  float* d_gates, float* d_recurrent, float* d_last);

}  // namespace fedstride
