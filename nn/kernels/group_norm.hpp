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

/// Scale and shift, a number a channel, and whether a ReLU is behind them.
struct GroupNormOutput {
  const float* scale = nullptr;
  const float* shift = nullptr;
  bool relu = false;
};

/// y = (x - mean) x inverse x scale + shift, or 0 where a ReLU makes it so; mean and inverse, written for every channel, are its
/// group's mean and 1 / sqrt(variance + epsilon). `sums` and `factors` are scratch, a number a channel.
void group_norm_forward(const GroupNormShape& shape, double epsilon, const GroupNormOutput& output, const float* x, double* sums,
                        float* factors, float* mean, float* inverse, float* y);

/// The sums over places that both ways back need, 2 x channels: of dy, then of dy x normalised x, where a ReLU lets dy through.
/// They are the gradients of shift and scale. `factors` is scratch, 2 x channels.
void group_norm_sums(const GroupNormShape& shape, const GroupNormOutput& output, const float* x, const float* dy,
                     const float* mean, const float* inverse, float* factors, double* sums);

/// dx from the sums; `factors` is scratch, 3 x channels.
void group_norm_data_gradient(const GroupNormShape& shape, const GroupNormOutput& output, const float* x, const float* dy,
                              const float* mean, const float* inverse, const double* sums, float* factors, float* dx);

}  // namespace fedstride
