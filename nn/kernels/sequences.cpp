#include "nn/kernels/sequences.hpp"

#include <algorithm>
#include <cmath>

#include "nn/kernels/squares.hpp"
#include "nn/kernels/tiles.hpp"

namespace fedstride {
namespace {

float dot(const float* a, const float* b, int size) {
  LaneSums total;
  for_sum_lanes(size, [&](auto part, int i, auto get)
                          FEDSTRIDE_INLINE_LAMBDA { total.part[part] = fma(get(a + i), get(b + i), total.part[part]); });
  return sum(total);
}

/// Replaces the first `count` values with e^(value - largest) / sum.
void softmax(float* values, int count) {
  float largest = values[0];
  for (int s = 1; s < count; ++s) largest = std::max(largest, values[s]);
  const float share = 1 / sum_of_powers(values, count, largest, [&](int s, Lanes power, int some) FEDSTRIDE_INLINE_LAMBDA {
                        store_first(values + s, power, some);
                      });
  for (int s = 0; s < count; ++s) values[s] *= share;
}

FEDSTRIDE_INLINE Lanes one_less_square(Lanes x) { return fma(-x, x, broadcast(1.0F)); }

}  // namespace

void attention_forward(const AttentionShape& shape, const float* input, float* weights, float* output) {
  const int size = shape.size / shape.heads, length = shape.positions;
  const auto count = static_cast<std::size_t>(size);
  const float factor = 1 / std::sqrt(static_cast<float>(size));
  for (int head = 0; head < shape.heads; ++head) {
    const float* const queries = input + head * size;
    const float* const keys = queries + shape.size;
    const float* const values = keys + shape.size;
    for (int t = 0; t < length; ++t) {
      float* const row = weights + (static_cast<std::size_t>(head) * length + t) * length;
      float* const out = output + t * shape.output_stride + head * size;
      for (int s = 0; s <= t; ++s) row[s] = factor * dot(queries + t * shape.input_stride, keys + s * shape.input_stride, size);
      softmax(row, t + 1);
      std::fill_n(out, size, 0.0F);
      for (int s = 0; s <= t; ++s) add_scaled(out, values + s * shape.input_stride, row[s], count);
    }
  }
}

void attention_backward(const AttentionShape& shape, const float* input, const float* weights, const float* d_output,
                        float* scratch, float* d_input) {
  const int size = shape.size / shape.heads, length = shape.positions;
  const auto count = static_cast<std::size_t>(size);
  const float factor = 1 / std::sqrt(static_cast<float>(size));
  for (int t = 0; t < length; ++t) std::fill_n(d_input + t * shape.input_stride, 3 * shape.size, 0.0F);
  for (int head = 0; head < shape.heads; ++head) {
    const auto at = [&](auto* base, int part, int position) {
      return base + position * shape.input_stride + part * shape.size + head * size;
    };
    for (int t = 0; t < length; ++t) {
      const float* const row = weights + (static_cast<std::size_t>(head) * length + t) * length;
      const float* const d_out = d_output + t * shape.output_stride + head * size;
      float mean = 0;
      for (int s = 0; s <= t; ++s) {
        scratch[s] = dot(d_out, at(input, 2, s), size);
        mean = fma(row[s], scratch[s], mean);
      }
      for (int s = 0; s <= t; ++s) {
        const float d_score = factor * row[s] * (scratch[s] - mean);
        add_scaled(at(d_input, 0, t), at(input, 1, s), d_score, count);
        add_scaled(at(d_input, 1, s), at(input, 0, t), d_score, count);
        add_scaled(at(d_input, 2, s), d_out, row[s], count);
      }
    }
  }
}

void lstm_forward(int units, float* gates, const float* recurrent, const float* last_cell, float* cell, float* output) {
  for_vectors(units, [&](int j, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA {
    const auto sum = [&](int gate)
                         FEDSTRIDE_INLINE_LAMBDA { return get(gates + gate * units + j) + get(recurrent + gate * units + j); };
    const Lanes in = sigmoid(sum(0)), forget = sigmoid(sum(1)), candidate = tanh(sum(2)), out = sigmoid(sum(3));
    const Lanes now = fma(forget, get(last_cell + j), in * candidate);
    put(gates + j, in);
    put(gates + units + j, forget);
    put(gates + 2 * units + j, candidate);
    put(gates + 3 * units + j, out);
    put(cell + j, now);
    put(output + j, out * tanh(now));
  });
}

void lstm_backward(int units, const float* gates, const float* last_cell, const float* cell, const float* d_output, float* d_cell,
                   float* d_gates) {
  for_vectors(units, [&](int j, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA {
    const Lanes in = get(gates + j), forget = get(gates + units + j);
    const Lanes candidate = get(gates + 2 * units + j), out = get(gates + 3 * units + j);
    const Lanes squashed = tanh(get(cell + j)), d_out = get(d_output + j);
    const Lanes d_now = fma(d_out * out, one_less_square(squashed), get(d_cell + j));
    put(d_gates + j, d_now * candidate * in * (1.0F - in));
    put(d_gates + units + j, d_now * get(last_cell + j) * forget * (1.0F - forget));
    put(d_gates + 2 * units + j, d_now * in * one_less_square(candidate));
    put(d_gates + 3 * units + j, d_out * squashed * out * (1.0F - out));
    put(d_cell + j, d_now * forget);
  });
}

void gru_forward(int units, float* gates, const float* recurrent, const float* last_output, float* kept, float* output) {
  for_vectors(units, [&](int j, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA {
    const Lanes reset = sigmoid(get(gates + j) + get(recurrent + j));
    const Lanes update = sigmoid(get(gates + units + j) + get(recurrent + units + j));
    const Lanes product = get(recurrent + 2 * units + j);
    const Lanes candidate = tanh(fma(reset, product, get(gates + 2 * units + j)));
    put(gates + j, reset);
    put(gates + units + j, update);
    put(gates + 2 * units + j, candidate);
    put(kept + j, product);
    put(output + j, fma(update, get(last_output + j) - candidate, candidate));
  });
}

void gru_backward(int units, const float* gates, const float* last_output, const float* kept, const float* d_output,
                  float* d_gates, float* d_recurrent, float* d_last) {
  for_vectors(units, [&](int j, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA {
    const Lanes reset = get(gates + j), update = get(gates + units + j), candidate = get(gates + 2 * units + j);
    const Lanes d_out = get(d_output + j);
    const Lanes d_candidate = d_out * (1.0F - update) * one_less_square(candidate);
    const Lanes d_update = d_out * (get(last_output + j) - candidate) * update * (1.0F - update);
    const Lanes d_reset = d_candidate * get(kept + j) * reset * (1.0F - reset);
    put(d_gates + j, d_reset);
    put(d_gates + units + j, d_update);
    put(d_gates + 2 * units + j, d_candidate);
    put(d_recurrent + j, d_reset);
    put(d_recurrent + units + j, d_update);
    put(d_recurrent + 2 * units + j, d_candidate * reset);
    put(d_last + j, d_out * update);
  });
}

}  // namespace fedstride
