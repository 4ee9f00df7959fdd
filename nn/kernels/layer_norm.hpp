#pragma once

#include <cstddef>

namespace fedstride {

// Layer normalisation of one example (Ba, Kiros & Hinton, 2016): values x[place][channel], `stride` floats from place to
// place, a mean and a variance for the channels of each place. Sums over channels are taken in double.

/// y = (x - mean) x inverse x scale + shift, where mean and inverse, a number a place each, are the place's mean and
/// 1 / sqrt(variance + epsilon).
void layer_norm_forward(std::size_t places, std::size_t channels, std::size_t stride, double epsilon, const float* x,
                        const float* scale, const float* shift, float* mean, float* inverse, float* y);

/// The gradients by scale and shift, sums over places, and dx unless it is null.
void layer_norm_backward(std::size_t places, std::size_t channels, std::size_t stride, const float* x, const float* dy,
                         const float* scale, const float* mean, const float* inverse, float* scale_gradient,
                         float* shift_gradient, float* dx);

}  // namespace fedstride
