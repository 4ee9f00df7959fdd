#include "nn/kernels/norms.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "nn/kernels/tiles.hpp"

namespace fedstride {
namespace {

/// Calls body(first channel, last channel) for every group.
void for_each_group(const GroupNormShape& shape, auto&& body) {
  const std::size_t size = shape.channels / shape.groups;
  for (std::size_t first = 0; first < shape.channels; first += size) body(first, first + size);
}

/// Calls loop with std::true_type if there is a ReLU, otherwise with std::false_type.
void with_relu(bool relu, auto&& loop) {
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

/// The sum over all channels: term(c) returns a vector of doubles for the channels starting at c, and one(c) a single value for
/// each channel left over.
FEDSTRIDE_INLINE double sum_channels(std::size_t channels, auto&& term, auto&& one) {
  DoubleSums sums;
  std::size_t c = 0;
  for (; c + kDoubleSumLanes <= channels; c += kDoubleSumLanes)
    unrolled<kSumParts>([&](auto part) FEDSTRIDE_INLINE_LAMBDA { sums.part[part] += term(c + part * kDoubleLanes); });
  double total = sum(sums);
  for (; c < channels; ++c) total += one(c);
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
  // The variance is computed about the rounded mean, the one subtracted from the values, so the rounding does not matter.
  std::fill_n(sums, channels, 0.0);
  for (std::size_t p = 0; p < shape.places; ++p)
    for (std::size_t c = 0; c < channels; ++c) {
      const auto distance = static_cast<double>(x[p * channels + c] - mean[c]);
      sums[c] = fma(distance, distance, sums[c]);
    }
  for_each_group(shape, [&](std::size_t first, std::size_t last) {
    const double variance = sum_of(sums, first, last) / count;
    std::fill(inverse + first, inverse + last, static_cast<float>(1 / std::sqrt(variance + epsilon)));
  });
  for (std::size_t c = 0; c < channels; ++c) factors[c] = inverse[c] * scale[c];
  with_relu(output.relu, [&](auto relu) {
    for (std::size_t p = 0; p < shape.places; ++p)
      for (std::size_t c = 0; c < channels; ++c) {
        const float value = fma(x[p * channels + c] - mean[c], factors[c], shift[c]);
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
    if (output.relu) {  // a separate loop, which the compiler vectorizes
      for (std::size_t c = 0; c < channels; ++c) {
        const float y = fma(x[p * channels + c] - mean[c], factors[c], shift[c]);
        passed[c] = y > 0 ? gradient[c] : 0.0F;
      }
      gradient = passed;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      sums[c] += static_cast<double>(gradient[c]);
      products[c] = fma(static_cast<double>(gradient[c]), static_cast<double>(x[p * channels + c] - mean[c]), products[c]);
    }
  }
  for (std::size_t c = 0; c < channels; ++c) products[c] *= static_cast<double>(inverse[c]);
}

void group_norm_data_gradient(const GroupNormShape& shape, const GroupNormOutput& output, const float* __restrict x,
                              const float* __restrict dy, const float* __restrict mean, const float* __restrict inverse,
                              const double* __restrict sums, float* __restrict factors, float* __restrict dx) {
  const float* __restrict scale = output.scale;
  const float* __restrict shift = output.shift;
  // With g = dy x scale and n the normalized x: dx = inverse x (g - mean of g - n x mean of g n), means over the group.
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
        const float gradient = !relu || fma(distance, factors[c], shift[c]) > 0 ? by_output : 0.0F;
        dx[p * channels + c] = fma(gradient, factors[c], -fma(distance, slope[c], offset[c]));
      }
  });
}

void layer_norm_forward(std::size_t places, std::size_t channels, std::size_t stride, double epsilon, const float* __restrict x,
                        const float* __restrict scale, const float* __restrict shift, float* __restrict mean,
                        float* __restrict inverse, float* __restrict y) {
  const auto count = static_cast<double>(channels);
  for (std::size_t p = 0; p < places; ++p, x += stride, y += stride) {
    const double total = sum_channels(
        channels, [&](std::size_t c) FEDSTRIDE_INLINE_LAMBDA { return load_doubles(x + c); },
        [&](std::size_t c) FEDSTRIDE_INLINE_LAMBDA { return static_cast<double>(x[c]); });
    mean[p] = static_cast<float>(total / count);
    // The variance is computed about the rounded mean, the one subtracted from the values, so the rounding does not matter.
    const auto middle = static_cast<double>(mean[p]);
    const double squares = sum_channels(
        channels,
        [&](std::size_t c) FEDSTRIDE_INLINE_LAMBDA {
          const DoubleLanes distance = load_doubles(x + c) - middle;
          return distance * distance;
        },
        [&](std::size_t c) FEDSTRIDE_INLINE_LAMBDA {
          const double distance = static_cast<double>(x[c]) - middle;
          return distance * distance;
        });
    inverse[p] = static_cast<float>(1 / std::sqrt(squares / count + epsilon));
    for (std::size_t c = 0; c < channels; ++c) y[c] = fma((x[c] - mean[p]) * inverse[p], scale[c], shift[c]);
  }
}

void layer_norm_backward(std::size_t places, std::size_t channels, std::size_t stride, const float* __restrict x,
                         const float* __restrict dy, const float* __restrict scale, const float* __restrict mean,
                         const float* __restrict inverse, float* __restrict scale_gradient, float* __restrict shift_gradient,
                         float* __restrict dx) {
  // With g = dy x scale and n the normalized x: dx = inverse x (g - mean of g - n x mean of g n), means over the channels.
  const auto count = static_cast<double>(channels);
  std::fill_n(scale_gradient, channels, 0.0F);
  std::fill_n(shift_gradient, channels, 0.0F);
  for (std::size_t p = 0; p < places; ++p, x += stride, dy += stride) {
    for (std::size_t c = 0; c < channels; ++c) {
      scale_gradient[c] = fma(dy[c], (x[c] - mean[p]) * inverse[p], scale_gradient[c]);
      shift_gradient[c] += dy[c];
    }
    if (dx == nullptr) continue;
    const auto middle = static_cast<double>(mean[p]);
    const double gradients = sum_channels(
        channels, [&](std::size_t c) FEDSTRIDE_INLINE_LAMBDA { return load_doubles(dy + c) * load_doubles(scale + c); },
        [&](std::size_t c) FEDSTRIDE_INLINE_LAMBDA { return static_cast<double>(dy[c]) * static_cast<double>(scale[c]); });
    const double products = sum_channels(
        channels,
        [&](std::size_t c)
            FEDSTRIDE_INLINE_LAMBDA { return load_doubles(dy + c) * load_doubles(scale + c) * (load_doubles(x + c) - middle); },
        [&](std::size_t c) FEDSTRIDE_INLINE_LAMBDA {
          return static_cast<double>(dy[c]) * static_cast<double>(scale[c]) * (static_cast<double>(x[c]) - middle);
        });
    const auto deviations = static_cast<double>(inverse[p]);
    const auto offset = static_cast<float>(gradients / count);
    const auto slope = static_cast<float>(deviations * deviations * products / count);
    for (std::size_t c = 0; c < channels; ++c) dx[c] = inverse[p] * fma(dy[c], scale[c], -fma(x[c] - mean[p], slope, offset));
    dx += stride;
  }
}

}  // namespace fedstride
