#pragma once

#include <cmath>
#include <concepts>

#include "nn/layer.hpp"
#include "tests/kits/reference_place.hpp"

// The slow twin of normalizations (tests/kits/reference.hpp).

namespace fedstride::reference {

/// Calls visit(input index, channel) for every value of a group.
template <class Scalar, class Visit>
void for_each_in_group(const GroupNorm& norm, const Place<Scalar>& at, int group, Visit&& visit) {
  const int size = at.in.channels / norm.groups;
  for (int row = 0; row < at.in.height; ++row)
    for (int column = 0; column < at.in.width; ++column)
      for (int channel = group * size; channel < (group + 1) * size; ++channel) visit(at.in_at(row, column, channel), channel);
}

/// Layer norm is group norm of one group at each place: its values are those of the place.
template <class Scalar, class Visit>
void for_each_in_group(const LayerNorm&, const Place<Scalar>& at, int place, Visit&& visit) {
  for (int channel = 0; channel < at.in.channels; ++channel)
    visit(static_cast<std::size_t>(place) * at.in.channels + channel, channel);
}

template <class Scalar>
int groups_of(const GroupNorm& norm, const Place<Scalar>&) {
  return norm.groups;
}
template <class Scalar>
int groups_of(const LayerNorm&, const Place<Scalar>& at) {
  return at.in.height * at.in.width;
}

template <class Kind>
concept Norm = std::same_as<Kind, GroupNorm> || std::same_as<Kind, LayerNorm>;

template <class Scalar>
struct GroupMoments {
  Scalar count = 0;
  Scalar mean = 0;
  Scalar deviation = 0;  ///< square root of the variance and epsilon
};

template <Norm Kind, class Scalar>
GroupMoments<Scalar> moments(const Kind& norm, const Place<Scalar>& at, const Scalar* in, int group) {
  GroupMoments<Scalar> found;
  Scalar variance = 0;
  for_each_in_group(norm, at, group, [&](auto, int) { found.count += 1; });
  for_each_in_group(norm, at, group, [&](auto i, int) { found.mean += in[i] / found.count; });
  for_each_in_group(norm, at, group, [&](auto i, int) { variance += (in[i] - found.mean) * (in[i] - found.mean) / found.count; });
  found.deviation = std::sqrt(variance + static_cast<Scalar>(Kind::kEpsilon));
  return found;
}

template <Norm Kind, class Scalar>
void forward(const Kind& norm, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (int group = 0; group < groups_of(norm, at); ++group) {
    const auto [count, mean, deviation] = moments(norm, at, in, group);
    for_each_in_group(norm, at, group, [&, mean = mean, deviation = deviation](auto i, int channel) {
      out[i] = (in[i] - mean) / deviation * at.tensors.scale[channel] + at.tensors.shift[channel];
    });
  }
}

template <Norm Kind, class Scalar>
void backward(const Kind& norm, const Place<Scalar>& at, const Scalar* in, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for (int group = 0; group < groups_of(norm, at); ++group) {
    const auto found = moments(norm, at, in, group);
    const auto normalized = [&](std::size_t i) { return (in[i] - found.mean) / found.deviation; };
    // The gradient by the normalized values is out_gradient times scale; the terms of mean and deviation are subtracted.
    Scalar mean_gradient = 0, mean_product = 0;
    for_each_in_group(norm, at, group, [&](auto i, int channel) {
      at.gradients.scale[channel] += out_gradient[i] * normalized(i);
      at.gradients.shift[channel] += out_gradient[i];
      mean_gradient += out_gradient[i] * at.tensors.scale[channel] / found.count;
      mean_product += out_gradient[i] * at.tensors.scale[channel] * normalized(i) / found.count;
    });
    for_each_in_group(norm, at, group, [&](auto i, int channel) {
      in_gradient[i] +=
          (out_gradient[i] * at.tensors.scale[channel] - mean_gradient - normalized(i) * mean_product) / found.deviation;
    });
  }
}

}  // namespace fedstride::reference
