#pragma once

#include <cstddef>

namespace fedstride {

// Group normalisation of one example (Wu & He, ECCV 2018): values x[place][channel] without gaps, channels in groups of
// equal size, one mean and one variance for all values of a group. Sums are taken in double, place after place.

struct GroupNormShape {
  std::size_t places = 1;
  std::size_t channels = 1;
  std::size_t groups = 1;
  std::size_t size() const { return places * channels; }
};

/// y = (x - mean) x inverse x scale + shift, where mean and inverse, written for every channel, are its group's mean and
/// 1 / sqrt(variance + epsilon). `sums` and `factors` are scratch, a number a channel.
void group_norm_forward(const GroupNormShape& shape, double epsilon, const float* x, const float* scale, const float* shift,
                        double* sums, float* factors, float* mean, float* inverse, float* y);

/// The sums over places that both ways back need, 2 x channels: of dy, then of dy x normalised x. They are the gradients of
/// shift and scale.
void group_norm_sums(const GroupNormShape& shape, const float* x, const float* dy, const float* mean, const float* inverse,
                     double* sums);

/// dx from the sums; `factors` is scratch, 3 x channels.
void group_norm_data_gradient(const GroupNormShape& shape, const float* x, const float* dy, const float* scale, const float* mean,
                              const float* inverse, const double* sums, float* factors, float* dx);

}  // namespace fedstride
