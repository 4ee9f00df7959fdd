#pragma once

#include <cstddef>

namespace fedstride {

// Group normalization of one example (Wu & He, ECCV 2018): values x[place][channel] without gaps, channels in groups of equal
// size, and one mean and one variance for all values of a group. Sums are in double precision, accumulated place by place.

struct GroupNormShape {
  std::size_t places = 1;
  std::size_t channels = 1;
  std::size_t groups = 1;
  std::size_t size() const { return places * channels; }
};

/// Scale and shift, one value of each per channel, and whether a ReLU follows them.
struct GroupNormOutput {
  const float* scale = nullptr;
  const float* shift = nullptr;
  bool relu = false;
};

/// y = (x - mean) x inverse x scale + shift, with negative values set to 0 if there is a ReLU; mean and inverse receive, for
/// every channel, its group's mean and 1 / sqrt(variance + epsilon). `sums` and `factors` are scratch, one number per channel.
void group_norm_forward(const GroupNormShape& shape, double epsilon, const GroupNormOutput& output, const float* x, double* sums,
                        float* factors, float* mean, float* inverse, float* y);

/// Computes the sums over places that both backward passes need, 2 x channels: of dy, then of dy x normalized x, each where the
/// ReLU passes dy. They are the gradients with respect to shift and scale. `factors` is scratch, 2 x channels.
void group_norm_sums(const GroupNormShape& shape, const GroupNormOutput& output, const float* x, const float* dy,
                     const float* mean, const float* inverse, float* factors, double* sums);

/// Computes dx from the sums; `factors` is scratch, 3 x channels.
void group_norm_data_gradient(const GroupNormShape& shape, const GroupNormOutput& output, const float* x, const float* dy,
                              const float* mean, const float* inverse, const double* sums, float* factors, float* dx);

// Layer normalization of one example (Ba, Kiros & Hinton, 2016): values x[place][channel], `stride` floats from place to place,
// with one mean and variance over the channels of each place. Sums over channels are in double.

/// y = (x - mean) x inverse x scale + shift, where mean and inverse, one number per place each, are the place's mean and 1 /
/// sqrt(variance + epsilon).
void layer_norm_forward(std::size_t places, std::size_t channels, std::size_t stride, double epsilon, const float* x,
                        const float* scale, const float* shift, float* mean, float* inverse, float* y);

/// Computes the gradients with respect to scale and shift, summed over places, and, unless it is null, dx.
void layer_norm_backward(std::size_t places, std::size_t channels, std::size_t stride, const float* x, const float* dy,
                         const float* scale, const float* mean, const float* inverse, float* scale_gradient,
                         float* shift_gradient, float* dx);

}  // namespace fedstride
