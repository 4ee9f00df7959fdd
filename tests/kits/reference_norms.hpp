#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <vector>

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

/// Batch norm by the running statistics: one example at a time, as in evaluation and in a frozen layer.
template <class Scalar>
void forward(const BatchNorm&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.in.size(); ++i) {
    const std::size_t c = i % static_cast<std::size_t>(at.in.channels);
    const Scalar deviation = std::sqrt(at.tensors.running_variance[c] + static_cast<Scalar>(BatchNorm::kEpsilon));
    out[i] = (in[i] - at.tensors.running_mean[c]) / deviation * at.tensors.scale[c] + at.tensors.shift[c];
  }
}

template <class Scalar>
void backward(const BatchNorm&, const Place<Scalar>& at, const Scalar*, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for (std::size_t i = 0; i < at.in.size(); ++i) {
    const std::size_t c = i % static_cast<std::size_t>(at.in.channels);
    const Scalar deviation = std::sqrt(at.tensors.running_variance[c] + static_cast<Scalar>(BatchNorm::kEpsilon));
    in_gradient[i] = out_gradient[i] * at.tensors.scale[c] / deviation;
  }
}

template <class Scalar>
using Examples = std::vector<std::vector<std::vector<Scalar>>>;  ///< [example][slot][value]

/// Calls visit(example, value's place) for every value of a channel in the batch.
template <class Scalar, class Visit>
void for_each_in_channel(const Place<Scalar>& at, std::size_t examples, std::size_t channel, Visit&& visit) {
  for (std::size_t example = 0; example < examples; ++example)
    for (std::size_t i = channel; i < at.in.size(); i += static_cast<std::size_t>(at.in.channels)) visit(example, i);
}

template <class Scalar>
GroupMoments<Scalar> batch_moments(const Place<Scalar>& at, const Examples<Scalar>& values, std::size_t from,
                                   std::size_t channel) {
  GroupMoments<Scalar> found;
  Scalar variance = 0;
  for_each_in_channel(at, values.size(), channel, [&](auto, auto) { found.count += 1; });
  for_each_in_channel(at, values.size(), channel, [&](auto e, auto i) { found.mean += values[e][from][i] / found.count; });
  for_each_in_channel(at, values.size(), channel, [&](auto e, auto i) {
    variance += (values[e][from][i] - found.mean) * (values[e][from][i] - found.mean) / found.count;
  });
  found.deviation = std::sqrt(variance + static_cast<Scalar>(BatchNorm::kEpsilon));
  return found;
}

/// Batch norm by mean and variance of the batch.
template <class Scalar>
void forward_batch(const Place<Scalar>& at, Examples<Scalar>& values, std::size_t from, std::size_t to) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(at.in.channels); ++c) {
    const auto found = batch_moments(at, values, from, c);
    for_each_in_channel(at, values.size(), c, [&](auto e, auto i) {
      values[e][to][i] = (values[e][from][i] - found.mean) / found.deviation * at.tensors.scale[c] + at.tensors.shift[c];
    });
  }
}

template <class Scalar>
void backward_batch(const Place<Scalar>& at, const Examples<Scalar>& values, std::size_t from, Examples<Scalar>& gradients,
                    std::size_t to) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(at.in.channels); ++c) {
    const auto found = batch_moments(at, values, from, c);
    const auto normalized = [&](std::size_t e, std::size_t i) { return (values[e][from][i] - found.mean) / found.deviation; };
    Scalar sum = 0, product = 0;
    for_each_in_channel(at, values.size(), c, [&](auto e, auto i) {
      sum += gradients[e][to][i];
      product += gradients[e][to][i] * normalized(e, i);
    });
    at.gradients.shift[c] += sum;
    at.gradients.scale[c] += product;
    for_each_in_channel(at, values.size(), c, [&](auto e, auto i) {
      gradients[e][from][i] += at.tensors.scale[c] / found.deviation *
                               (gradients[e][to][i] - sum / found.count - normalized(e, i) * product / found.count);
    });
  }
}

}  // namespace fedstride::reference
