#include "nn/kernels/attention.hpp"

#include <algorithm>
#include <cmath>

#include "core/simd.hpp"
#include "nn/kernels/squares.hpp"

namespace fedstride {
namespace {

float dot(const float* a, const float* b, int size) {
  Lanes total{};
  int i = 0;
  for (; i + kLanes <= size; i += kLanes) total += load(a + i) * load(b + i);
  if (i < size) total += load_first(a + i, size - i) * load_first(b + i, size - i);
  return sum(total);
}

/// Makes e^(value - largest) / sum of the first `count` values.
void softmax(float* values, int count) {
  float largest = values[0];
  for (int s = 1; s < count; ++s) largest = std::max(largest, values[s]);
  Lanes total{};
  for (int s = 0; s < count; s += kLanes) {
    const int some = std::min(kLanes, count - s);
    Lanes power = exp(load_first(values + s, some) - largest);
    power = lane_numbers() < broadcast(some) ? power : Lanes{};
    store_first(values + s, power, some);
    total += power;
  }
  const float share = 1 / sum(total);
  for (int s = 0; s < count; ++s) values[s] *= share;
}

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
        mean += row[s] * scratch[s];
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

}  // namespace fedstride
