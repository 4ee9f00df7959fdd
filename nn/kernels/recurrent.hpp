#pragma once

#include <cstddef>

namespace fedstride {

// One step of a recurrent layer for one example. Gates lie one behind the other, `units` values each: before the step the
// products with the input, after it the gates' values; `recurrent` are the products with the last output. Gradients: d... .

/// Input, forget, cell and output gate i, f, g, o: c = f c' + i g, h = o tanh(c).
void lstm_forward(int units, float* gates, const float* recurrent, const float* last_cell, float* cell, float* output);

/// From the gradient by the output and, in d_cell, by the cell of this step: the gradient by the gates' products and, in d_cell,
/// by the cell of the step before.
void lstm_backward(int units, const float* gates, const float* last_cell, const float* cell, const float* d_output, float* d_cell,
                   float* d_gates);

/// Reset gate, update gate and candidate r, z, n = tanh(x_n + r kept): h = (1 - z) n + z h'; `kept` receives the recurrent
/// product of n.
void gru_forward(int units, float* gates, const float* recurrent, const float* last_output, float* kept, float* output);

/// From the gradient by the output: those by the products with the input and with the last output, and the part of the
/// gradient by the last output that does not go through its product.
void gru_backward(int units, const float* gates, const float* last_output, const float* kept, const float* d_output,
                  float* d_gates, float* d_recurrent, float* d_last);

}  // namespace fedstride
