#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "nn/dropout.hpp"
#include "nn/model.hpp"
#include "nn/network.hpp"
#include "tests/kits/reference_activations.hpp"
#include "tests/kits/reference_blocks.hpp"
#include "tests/kits/reference_norms.hpp"
#include "tests/kits/reference_place.hpp"
#include "tests/kits/reference_sequence.hpp"

namespace fedstride {

/// The slow, obvious twin of the network: one layer and one example at a time, plain loops, no trick. The fast kernels are tested against
/// it, and with Scalar = double finite differences are taken of it.
///
/// Conventions both keep: pictures are NHWC; relu'(0) = 0; of equal largest values in a pooling window the first in
/// row-column order gets the gradient; of equal scores the lowest class is predicted; the gradient is the batch's mean.
namespace reference {

/// Calls visit(input index, output index, weight index) for every product of a convolution.
template <class Scalar, class Visit>
void for_each_product(const Conv& conv, const Place<Scalar>& at, Visit&& visit) {
  for_each_value(at.out, [&](int row, int column, int output) {
    for (int ky = 0; ky < conv.kernel; ++ky)
      for (int kx = 0; kx < conv.kernel; ++kx) {
        const int y = row * conv.stride + ky - conv.padding, x = column * conv.stride + kx - conv.padding;
        if (y < 0 || y >= at.in.height || x < 0 || x >= at.in.width) continue;
        for (int input = 0; input < at.in.channels; ++input)
          visit(at.in_at(y, x, input), at.out_at(row, column, output),
                ((static_cast<std::size_t>(output) * conv.kernel + ky) * conv.kernel + kx) * at.in.channels + input);
      }
  });
}

template <class Scalar>
void forward(const Conv& conv, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.out.size(); ++i) out[i] = at.tensors.bias ? at.tensors.bias[i % at.out.channels] : Scalar{0};
  for_each_product(conv, at, [&](auto i, auto o, auto w) { out[o] += in[i] * at.tensors.weight[w]; });
}

template <class Scalar>
void backward(const Conv& conv, const Place<Scalar>& at, const Scalar* in, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for_each_product(conv, at, [&](auto i, auto o, auto w) {
    in_gradient[i] += out_gradient[o] * at.tensors.weight[w];
    at.gradients.weight[w] += out_gradient[o] * in[i];
  });
  if (at.tensors.bias)
    for (std::size_t i = 0; i < at.out.size(); ++i) at.gradients.bias[i % at.out.channels] += out_gradient[i];
}

/// Calls visit(input index) for every place of a pool's window that lies in the picture, row after row.
template <class Pool, class Scalar, class Visit>
void for_each_in_window(const Pool& pool, const Place<Scalar>& at, int row, int column, int channel, Visit&& visit) {
  for (int ky = 0; ky < pool.kernel; ++ky)
    for (int kx = 0; kx < pool.kernel; ++kx) {
      const int y = row * pool.stride + ky - pool.padding, x = column * pool.stride + kx - pool.padding;
      if (y >= 0 && y < at.in.height && x >= 0 && x < at.in.width) visit(at.in_at(y, x, channel));
    }
}

/// Index of the largest value in the window of a max-pool's output.
template <class Scalar>
std::size_t largest_in_window(const MaxPool& pool, const Place<Scalar>& at, const Scalar* in, int row, int column, int channel) {
  std::size_t best = at.in.size();
  for_each_in_window(pool, at, row, column, channel, [&](std::size_t i) {
    if (best == at.in.size() || in[i] > in[best]) best = i;
  });
  return best;
}

template <class Scalar>
void forward(const MaxPool& pool, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for_each_value(at.out, [&](int row, int column, int channel) {
    out[at.out_at(row, column, channel)] = in[largest_in_window(pool, at, in, row, column, channel)];
  });
}

template <class Scalar>
void backward(const MaxPool& pool, const Place<Scalar>& at, const Scalar* in, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for_each_value(at.out, [&](int row, int column, int channel) {
    in_gradient[largest_in_window(pool, at, in, row, column, channel)] += out_gradient[at.out_at(row, column, channel)];
  });
}

/// Calls visit(input index, output index) for every pair an average connects.
template <class Scalar, class Visit>
void for_each_pair(const AvgPool& pool, const Place<Scalar>& at, Visit&& visit) {
  for_each_value(at.out, [&](int row, int column, int channel) {
    for_each_in_window(pool, at, row, column, channel, [&](auto i) { visit(i, at.out_at(row, column, channel)); });
  });
}

template <class Scalar>
void forward(const AvgPool& pool, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  const Scalar count = static_cast<Scalar>(pool.kernel) * static_cast<Scalar>(pool.kernel);
  for (std::size_t i = 0; i < at.out.size(); ++i) out[i] = 0;
  for_each_pair(pool, at, [&](auto i, auto o) { out[o] += in[i] / count; });
}

template <class Scalar>
void backward(const AvgPool& pool, const Place<Scalar>& at, const Scalar*, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  const Scalar count = static_cast<Scalar>(pool.kernel) * static_cast<Scalar>(pool.kernel);
  for_each_pair(pool, at, [&](auto i, auto o) { in_gradient[i] += out_gradient[o] / count; });
}

/// Calls visit(input index, output index, weight index) for every product of a dense layer, at each position of a sequence.
template <class Scalar, class Visit>
void for_each_dense_product(const Place<Scalar>& at, Visit&& visit) {
  const std::size_t positions = static_cast<std::size_t>(at.out.height), outputs = at.out.size() / positions,
                    inputs = at.in.size() / positions;
  for (std::size_t t = 0; t < positions; ++t)
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t o = 0; o < outputs; ++o) visit(t * inputs + i, t * outputs + o, i * outputs + o);
}

template <class Scalar>
void forward(const GlobalAvgPool&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  const Scalar places = static_cast<Scalar>(at.in.height) * static_cast<Scalar>(at.in.width);
  for (int channel = 0; channel < at.in.channels; ++channel) out[channel] = 0;
  for_each_value(at.in, [&](int row, int column, int channel) { out[channel] += in[at.in_at(row, column, channel)] / places; });
}

template <class Scalar>
void backward(const GlobalAvgPool&, const Place<Scalar>& at, const Scalar*, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  const Scalar places = static_cast<Scalar>(at.in.height) * static_cast<Scalar>(at.in.width);
  for_each_value(at.in, [&](int row, int column, int channel) {
    in_gradient[at.in_at(row, column, channel)] += out_gradient[channel] / places;
  });
}

template <class Scalar>
void forward(const Dense&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.out.size(); ++i) out[i] = at.tensors.bias ? at.tensors.bias[i % at.out.channels] : Scalar{0};
  for_each_dense_product(at, [&](auto i, auto o, auto w) { out[o] += in[i] * at.tensors.weight[w]; });
}

template <class Scalar>
void backward(const Dense&, const Place<Scalar>& at, const Scalar* in, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for_each_dense_product(at, [&](auto i, auto o, auto w) {
    in_gradient[i] += out_gradient[o] * at.tensors.weight[w];
    at.gradients.weight[w] += out_gradient[o] * in[i];
  });
  if (at.tensors.bias)
    for (std::size_t i = 0; i < at.out.size(); ++i) at.gradients.bias[i % at.out.channels] += out_gradient[i];
}

template <class Scalar>
void forward(const Dropout&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.in.size(); ++i) out[i] = at.mask.empty() ? in[i] : in[i] * at.mask[i];
}

template <class Scalar>
void backward(const Dropout&, const Place<Scalar>& at, const Scalar*, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for (std::size_t i = 0; i < at.in.size(); ++i)
    in_gradient[i] = at.mask.empty() ? out_gradient[i] : out_gradient[i] * at.mask[i];
}

template <class Scalar>
void forward(const Flatten&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.in.size(); ++i) out[i] = in[i];
}

template <class Scalar>
void backward(const Flatten&, const Place<Scalar>& at, const Scalar*, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for (std::size_t i = 0; i < at.in.size(); ++i) in_gradient[i] = out_gradient[i];
}

/// Softmax cross-entropy with one label; scores become its gradient with respect to them.
template <class Scalar>
Scalar softmax_loss(std::span<Scalar> scores, Label label) {
  Scalar largest = scores[0], sum = 0;
  for (const Scalar score : scores) largest = std::max(largest, score);
  for (const Scalar score : scores) sum += std::exp(score - largest);
  const Scalar log_sum = largest + std::log(sum);
  const Scalar value = log_sum - scores[label];
  for (Scalar& score : scores) score = std::exp(score - log_sum);
  scores[label] -= 1;
  return value;
}

/// The loss of example `row` of a batch, of each kind of targets; scores become its gradient with respect to them.
template <class Scalar>
Scalar loss(const ExampleForm& form, const Batch& batch, std::size_t row, std::vector<Scalar>& scores) {
  const std::size_t answers = form.answers();
  Scalar sum = 0, counted = 0;
  if (form.targets == Targets::classes || form.targets == Targets::positions) {
    const auto labels = batch.labels.subspan(row * answers, answers);
    for (std::size_t t = 0; t < answers; ++t) {
      const auto place = std::span(scores).subspan(t * static_cast<std::size_t>(form.outputs), form.outputs);
      if (labels[t] == kNoLabel && form.targets == Targets::positions) {
        std::fill(place.begin(), place.end(), Scalar{0});
        continue;
      }
      counted += 1;
      sum += softmax_loss(place, labels[t]);
    }
  } else {
    for (std::size_t k = 0; k < answers; ++k, counted += 1) {
      const Scalar score = scores[k], answer = static_cast<Scalar>(batch.values[row * answers + k]);
      const Scalar sigmoid = 1 / (1 + std::exp(-score));
      const bool squared = form.targets == Targets::values;
      sum += squared ? (score - answer) * (score - answer) : -answer * std::log(sigmoid) - (1 - answer) * std::log(1 - sigmoid);
      scores[k] = squared ? 2 * (score - answer) : sigmoid - answer;
    }
  }
  if (counted == 0) return 0;
  for (Scalar& score : scores) score /= counted;
  return sum / counted;
}

/// The answers of an example that its scores get right.
template <class Scalar>
int right_answers(const ExampleForm& form, const Batch& batch, std::size_t row, const std::vector<Scalar>& scores) {
  const std::size_t answers = form.answers();
  int right = 0;
  for (std::size_t k = 0; k < answers; ++k) {
    if (form.targets == Targets::flags) right += (scores[k] > 0) == (batch.values[row * answers + k] > 0) ? 1 : 0;
    if (!batch.values.empty()) continue;
    const auto first = scores.begin() + static_cast<std::ptrdiff_t>(k) * form.outputs;
    right += std::max_element(first, first + form.outputs) - first == batch.labels[row * answers + k] ? 1 : 0;
  }
  return right;
}

}  // namespace reference

template <class Scalar>
struct ReferenceResult {
  Scalar loss_sum = 0;  ///< over the batch
  int correct = 0;
  std::vector<Scalar> scores;    ///< rows x classes
  std::vector<Scalar> gradient;  ///< mean over the batch, laid out as the weights; zero in gaps and frozen layers
};

/// Computes everything the network computes for a batch. inputs: rows x input size, NHWC. `training` draws dropout;
/// `frozen` has a flag a layer or is empty.
template <class Scalar>
ReferenceResult<Scalar> reference_gradient(const Model& model, std::span<const Scalar> weights, std::span<const Scalar> inputs,
                                           const Batch& batch, const std::vector<bool>& frozen = {}, bool training = true) {
  const std::size_t layers = model.layers().size(), rows = batch.rows.size(), input_size = model.input().size();
  ReferenceResult<Scalar> result;
  result.gradient.assign(model.size(), 0);
  std::vector<reference::Place<Scalar>> places(layers);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    places[layer].in = model.shapes()[static_cast<std::size_t>(model.reads()[layer].from)];
    places[layer].out = model.shapes()[layer + 1];
  }
  for (const Parameter& parameter : model.parameters()) {
    auto& place = places[static_cast<std::size_t>(parameter.layer)];
    place.tensors[parameter.role] = weights.data() + parameter.offset;
    place.gradients[parameter.role] = result.gradient.data() + parameter.offset;
  }
  using Slots = std::vector<std::vector<Scalar>>;
  std::vector<Slots> values(rows, Slots(layers + 1)), gradients(rows, Slots(layers + 1));  // of each example
  // The place of example `row` in a layer.
  const auto place_of = [&](std::size_t layer, std::size_t row) -> const reference::Place<Scalar>& {
    auto& place = places[layer];
    if (const auto* dropout = std::get_if<Dropout>(&model.layers()[layer]); dropout != nullptr && training) {
      place.mask.resize(place.in.size());
      dropout_mask(batch.address, batch.rows[row], dropout_first_word(model, static_cast<int>(layer)), dropout->rate, place.mask);
    }
    if (const int added = model.reads()[layer].added; added >= 0) {
      place.added = values[row][static_cast<std::size_t>(added)].data();
      place.added_gradient = gradients[row][static_cast<std::size_t>(added)].data();
    }
    return place;
  };
  const auto from = [&](std::size_t layer) { return static_cast<std::size_t>(model.reads()[layer].from); };
  const auto is_by_batch = [&](std::size_t layer) {
    return std::holds_alternative<BatchNorm>(model.layers()[layer]) && training && (frozen.empty() || !frozen[layer]);
  };
  for (std::size_t row = 0; row < rows; ++row)
    values[row][0].assign(inputs.begin() + row * input_size, inputs.begin() + (row + 1) * input_size);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t row = 0; row < rows; ++row) values[row][layer + 1].resize(places[layer].out.size());
    if (is_by_batch(layer)) {
      reference::forward_batch(places[layer], values, from(layer), layer + 1);
      continue;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const auto& place = place_of(layer, row);
      const Scalar* in = values[row][from(layer)].data();
      Scalar* const out = values[row][layer + 1].data();
      const auto go_on = [&](const auto& kind) {
        static_assert(
            requires { forward(kind, place, in, out); },
            "the layer needs its twin, forward and backward, in a tests/kits/reference*.hpp");
        forward(kind, place, in, out);
      };
      std::visit(go_on, model.layers()[layer]);
    }
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t slot = 0; slot <= layers; ++slot) gradients[row][slot].assign(values[row][slot].size(), 0);
    std::vector<Scalar>& gradient = gradients[row][layers] = values[row][layers];
    result.scores.insert(result.scores.end(), gradient.begin(), gradient.end());
    result.correct += reference::right_answers(model.form(), batch, row, gradient);
    result.loss_sum += reference::loss(model.form(), batch, row, gradient);
    for (Scalar& value : gradient) value /= static_cast<Scalar>(rows);
  }
  for (std::size_t layer = layers; layer-- > 0;) {
    if (is_by_batch(layer)) {
      reference::backward_batch(places[layer], values, from(layer), gradients, layer + 1);
      continue;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const auto& place = place_of(layer, row);
      std::vector<Scalar> in_gradient(place.in.size(), 0);
      const auto go_back = [&](const auto& kind) {
        backward(kind, place, values[row][from(layer)].data(), values[row][layer + 1].data(), gradients[row][layer + 1].data(),
                 in_gradient.data());
      };
      std::visit(go_back, model.layers()[layer]);
      for (std::size_t i = 0; i < in_gradient.size(); ++i) gradients[row][from(layer)][i] += in_gradient[i];
    }
  }
  for (const Parameter& parameter : model.parameters())
    if (!frozen.empty() && frozen[static_cast<std::size_t>(parameter.layer)])
      std::fill_n(result.gradient.begin() + parameter.offset, parameter.size, Scalar{0});
  return result;
}

}  // namespace fedstride
