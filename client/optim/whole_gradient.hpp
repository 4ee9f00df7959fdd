#pragma once

#include <cstddef>
#include <span>

#include "client/optim/lane_sum.hpp"
#include "core/gradient.hpp"
#include "core/vector.hpp"

namespace fedstride {

// If a step's rate depends on the norm of its gradient, no weight may move before the whole gradient is known. Unlike SGD, such a
// step writes the gradient to memory and reads it back.

/// Writes the gradient at the weights to `kept`, with zeros where there is no gradient; returns its squared norm.
inline double keep_gradient(Gradient gradient, const Vector& weights, Vector& kept) {
  kept.assign(weights.size(), 0);
  return gradient(weights.data(), [&](std::size_t offset, std::span<const float> stretch) {
    const float* __restrict from = stretch.data();
    float* __restrict to = kept.data() + offset;
    return lane_sum(stretch.size(), [=](std::size_t i) {
      to[i] = from[i];
      return static_cast<double>(from[i]) * static_cast<double>(from[i]);
    });
  });
}

/// weights -= rate x gradient
inline void descend(Vector& weights, const Vector& gradient, double rate) {
  const auto eta = static_cast<float>(rate);
  float* __restrict to = weights.data();
  const float* __restrict from = gradient.data();
  for (std::size_t i = 0; i < weights.size(); ++i) to[i] -= eta * from[i];
}

}  // namespace fedstride
