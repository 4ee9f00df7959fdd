#include "nn/kernels/layer_norm.hpp"

#include <algorithm>
#include <cmath>

#include "nn/kernels/double_lanes.hpp"

namespace fedstride {
namespace {

/// The sum of term(first channel), a vector of doubles, and of one(channel) for what is left.
template <class Term, class One>
FEDSTRIDE_INLINE double sum_channels(std::size_t channels, Term&& term, One&& one) {
  DoubleLanes sums{};
  std::size_t c = 0;
  for (; c + kDoubleLanes <= channels; c += kDoubleLanes) sums += term(c);
  double total = sum(sums);
  for (; c < channels; ++c) total += one(c);
  return total;
}

}  // namespace

void layer_norm_forward(std::size_t places, std::size_t channels, std::size_t stride, double epsilon, const float* __restrict x,
                        const float* __restrict scale, const float* __restrict shift, float* __restrict mean,
                        float* __restrict inverse, float* __restrict y) {
  const auto count = static_cast<double>(channels);
  for (std::size_t p = 0; p < places; ++p, x += stride, y += stride) {
    const double total = sum_channels(
        channels, [&](std::size_t c) FEDSTRIDE_INLINE_LAMBDA { return load_doubles(x + c); },
        [&](std::size_t c) FEDSTRIDE_INLINE_LAMBDA { return static_cast<double>(x[c]); });
    mean[p] = static_cast<float>(total / count);
    // The variance is taken around the rounded mean, the one subtracted from the values, so its rounding does not matter.
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
    for (std::size_t c = 0; c < channels; ++c) y[c] = (x[c] - mean[p]) * inverse[p] * scale[c] + shift[c];
  }
}

void layer_norm_backward(std::size_t places, std::size_t channels, std::size_t stride, const float* __restrict x,
                         const float* __restrict dy, const float* __restrict scale, const float* __restrict mean,
                         const float* __restrict inverse, float* __restrict scale_gradient, float* __restrict shift_gradient,
                         float* __restrict dx) {
  // With g = dy x scale and n the normalised x: dx = inverse x (g - mean of g - n x mean of g n), means over the channels.
  const auto count = static_cast<double>(channels);
  std::fill_n(scale_gradient, channels, 0.0F);
  std::fill_n(shift_gradient, channels, 0.0F);
  for (std::size_t p = 0; p < places; ++p, x += stride, dy += stride) {
    for (std::size_t c = 0; c < channels; ++c) {
      scale_gradient[c] += dy[c] * ((x[c] - mean[p]) * inverse[p]);
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
    for (std::size_t c = 0; c < channels; ++c) dx[c] = inverse[p] * (dy[c] * scale[c] - offset - (x[c] - mean[p]) * slope);
    dx += stride;
  }
}

}  // namespace fedstride
