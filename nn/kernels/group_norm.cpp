#include "nn/kernels/group_norm.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace fedstride {
namespace {

/// Calls body(first channel, last channel) for every group.
template <class Body>
void for_each_group(const GroupNormShape& shape, Body&& body) {
  const std::size_t size = shape.channels / shape.groups;
  for (std::size_t first = 0; first < shape.channels; first += size) body(first, first + size);
}

/// Calls loop with std::true_type if there is a ReLU, with std::false_type otherwise.
template <class Loop>
void with_relu(bool relu, Loop&& loop) {
  if (relu)
    loop(std::true_type{});
  else
    loop(std::false_type{});
}

double sum_of(const double* sums, std::size_t first, std::size_t last) {
  double total = 0;
  for (std::size_t c = first; c < last; ++c) total += sums[c];
  return total;
}

}  // namespace

void group_norm_forward(const GroupNormShape& shape, double epsilon, const GroupNormOutput& output, const float* __restrict x,
                        double* __restrict sums, float* __restrict factors, float* __restrict mean, float* __restrict inverse,
                        float* __restrict y) {
  const float* __restrict scale = output.scale;
  const float* __restrict shift = output.shift;
  const std::size_t channels = shape.channels;
  const std::size_t values = shape.size() / shape.groups;
  const auto count = static_cast<double>(values);
  std::fill_n(sums, channels, 0.0);
  for (std::size_t p = 0; p < shape.places; ++p)
    for (std::size_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(x[p * channels + c]);
  for_each_group(shape, [&](std::size_t first, std::size_t last) {
    std::fill(mean + first, mean + last, static_cast<float>(sum_of(sums, first, last) / count));
  });
  // The variance is taken around the rounded mean, the one subtracted from the values, so its rounding does not matter.
  std::fill_n(sums, channels, 0.0);
  for (std::size_t p = 0; p < shape.places; ++p)
    for (std::size_t c = 0; c < channels; ++c) {
      const auto distance = static_cast<double>(x[p * channels + c] - mean[c]);
      sums[c] += distance * distance;
    }
  for_each_group(shape, [&](std::size_t first, std::size_t last) {
    const double variance = sum_of(sums, first, last) / count;
    std::fill(inverse + first, inverse + last, static_cast<float>(1 / std::sqrt(variance + epsilon)));
  });
  for (std::size_t c = 0; c < channels; ++c) factors[c] = inverse[c] * scale[c];
  with_relu(output.relu, [&](auto relu) {
    for (std::size_t p = 0; p < shape.places; ++p)
      for (std::size_t c = 0; c < channels; ++c) {
        const float value = (x[p * channels + c] - mean[c]) * factors[c] + shift[c];
        y[p * channels + c] = !relu || value > 0 ? value : 0.0F;
      }
  });
}

void group_norm_sums(const GroupNormShape& shape, const GroupNormOutput& output, const float* __restrict x,
                     const float* __restrict dy, const float* __restrict mean, const float* __restrict inverse,
                     float* __restrict factors, double* __restrict sums) {
  const float* __restrict shift = output.shift;
  const std::size_t channels = shape.channels;
  double* const products = sums + channels;
  std::fill_n(sums, 2 * channels, 0.0);
  for (std::size_t c = 0; c < channels; ++c) factors[c] = inverse[c] * output.scale[c];
  float* const __restrict passed = factors + channels;
  for (std::size_t p = 0; p < shape.places; ++p) {
    const float* gradient = dy + p * channels;
    if (output.relu) {  // a loop of its own, which the compiler makes vectors of
      for (std::size_t c = 0; c < channels; ++c) {
        const float y = (x[p * channels + c] - mean[c]) * factors[c] + shift[c];
        passed[c] = y > 0 ? gradient[c] : 0.0F;
      }
      gradient = passed;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      sums[c] += static_cast<double>(gradient[c]);
      products[c] += static_cast<double>(gradient[c]) * static_cast<double>(x[p * channels + c] - mean[c]);
    }
  }
  for (std::size_t c = 0; c < channels; ++c) products[c] *= static_cast<double>(inverse[c]);
}

void group_norm_data_gradient(const GroupNormShape& shape, const GroupNormOutput& output, const float* __restrict x,
                              const float* __restrict dy, const float* __restrict mean, const float* __restrict inverse,
                              const double* __restrict sums, float* __restrict factors, float* __restrict dx) {
  const float* __restrict scale = output.scale;
  const float* __restrict shift = output.shift;
  // With g = dy x scale and n the normalised x: dx = inverse x (g - mean of g - n x mean of g n), means over the group.
  const std::size_t channels = shape.channels;
  const std::size_t values = shape.size() / shape.groups;
  const auto count = static_cast<double>(values);
  float* const slope = factors + channels;
  float* const offset = factors + 2 * channels;
  for_each_group(shape, [&](std::size_t first, std::size_t last) {
    double mean_gradient = 0, mean_product = 0;
    for (std::size_t c = first; c < last; ++c) {
      mean_gradient += static_cast<double>(scale[c]) * sums[c] / count;
      mean_product += static_cast<double>(scale[c]) * sums[channels + c] / count;
    }
    const auto deviations = static_cast<double>(inverse[first]);
    for (std::size_t c = first; c < last; ++c) {
      factors[c] = inverse[c] * scale[c];
      slope[c] = static_cast<float>(deviations * deviations * mean_product);
      offset[c] = static_cast<float>(deviations * mean_gradient);
    }
  });
  with_relu(output.relu, [&](auto relu) {
    for (std::size_t p = 0; p < shape.places; ++p)
      for (std::size_t c = 0; c < channels; ++c) {
        const float distance = x[p * channels + c] - mean[c];
        const float by_output = dy[p * channels + c];
        const float gradient = !relu || distance * factors[c] + shift[c] > 0 ? by_output : 0.0F;
        dx[p * channels + c] = gradient * factors[c] - distance * slope[c] - offset[c];
      }
  });
}

}  // namespace fedstride
