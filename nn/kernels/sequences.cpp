#include "nn/kernels/sequences.hpp"

#include <algorithm>
#include <cmath>

#include "nn/kernels/dense.hpp"
#include "nn/kernels/tiles.hpp"

namespace fedstride {
namespace {

/// Weights of a tile of sums: that of row r and position k is data[r * row + k * position].
struct MixWeights {
  const float* data;
  std::size_t row;
  std::size_t position;
};

/// to[r][j] = sum_k weight(r, k) from[k][j], k in ascending order, for the positions k <= first + r or, if kLater, from
/// first + r to `last`.
template <int kRows, bool kLater>
void mix_tile(MixWeights weights, const float* from, std::size_t from_stride, int first, int last, int size, float* to,
              std::size_t to_stride) {
  for_vectors(size, [&](int j, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA {
    Lanes sum[kRows] = {};
    const auto add = [&](int k, auto&& includes) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes value = in_register(get(from + k * from_stride + j));
      const float* const weight = weights.data + k * weights.position;
      unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
        if (includes(r)) sum[r] = fma(value, weight[r * weights.row], sum[r]);
      });
    };
    const auto all = [](auto) FEDSTRIDE_INLINE_LAMBDA { return true; };
    if constexpr (kLater) {
      for (int k = first; k < first + kRows; ++k) add(k, [&](int r) FEDSTRIDE_INLINE_LAMBDA { return first + r <= k; });
      for (int k = first + kRows; k <= last; ++k) add(k, all);
    } else {
      for (int k = 0; k <= first; ++k) add(k, all);
      for (int k = first + 1; k < first + kRows; ++k) add(k, [&](int r) FEDSTRIDE_INLINE_LAMBDA { return k <= first + r; });
    }
    unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA { put(to + r * to_stride + j, sum[r]); });
  });
}
constexpr auto kMixTiles = tile_table<2, kTileRows>([]<int kWhich, int kRows>() { return &mix_tile<kRows, kWhich == 2>; });

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
  const float factor = 1 / std::sqrt(static_cast<float>(size));
  for (int head = 0; head < shape.heads; ++head, weights += static_cast<std::size_t>(length) * length) {
    const float* const queries = input + head * size;
    const float* const keys = queries + shape.size;
    const float* const values = keys + shape.size;
    for_blocks(length, kTileRows, [&](int first, int count) {
      float* const rows = weights + static_cast<std::size_t>(first) * length;
      row_products(queries + first * shape.input_stride, shape.input_stride, count, keys, shape.input_stride, first + count, size,
                   {rows, static_cast<std::size_t>(length)});
      for (int r = 0; r < count; ++r) {
        float* const row = rows + r * length;
        for (int s = 0; s <= first + r; ++s) row[s] *= factor;
        softmax(row, first + r + 1);
      }
      kMixTiles[0][count - 1]({rows, static_cast<std::size_t>(length), 1}, values, shape.input_stride, first, length - 1, size,
                              output + first * shape.output_stride + head * size, shape.output_stride);
    });
  }
}

void attention_backward(const AttentionShape& shape, const float* input, const float* weights, const float* d_output,
                        float* scratch, float* d_input) {
  const int size = shape.size / shape.heads, length = shape.positions;
  const auto stride = static_cast<std::size_t>(length);
  const float factor = 1 / std::sqrt(static_cast<float>(size));
  for (int head = 0; head < shape.heads; ++head, weights += stride * stride) {
    const float* const queries = input + head * size;
    const float* const keys = queries + shape.size;
    const float* const values = keys + shape.size;
    const float* const d_out = d_output + head * size;
    float* const d_queries = d_input + head * size;
    for_blocks(length, kTileRows, [&](int first, int count) {
      float* const d_scores = scratch + first * stride;
      row_products(d_out + first * shape.output_stride, shape.output_stride, count, values, shape.input_stride, first + count,
                   size, {d_scores, stride});
      for (int r = 0; r < count; ++r) {
        const float* const row = weights + (first + r) * stride;
        float* const d_row = d_scores + r * stride;
        float mean = 0;
        for (int s = 0; s <= first + r; ++s) mean = fma(row[s], d_row[s], mean);
        for (int s = 0; s <= first + r; ++s) d_row[s] = factor * row[s] * (d_row[s] - mean);
      }
      kMixTiles[0][count - 1]({d_scores, stride, 1}, keys, shape.input_stride, first, length - 1, size,
                              d_queries + first * shape.input_stride, shape.input_stride);
    });
    for_blocks(length, kTileRows, [&](int first, int count) {
      float* const d_keys = d_queries + shape.size + first * shape.input_stride;
      const auto& mix = kMixTiles[1][count - 1];
      mix({scratch + first, 1, stride}, queries, shape.input_stride, first, length - 1, size, d_keys, shape.input_stride);
      mix({weights + first, 1, stride}, d_out, shape.output_stride, first, length - 1, size, d_keys + shape.size,
          shape.input_stride);
    });
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
