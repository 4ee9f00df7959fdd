#pragma once

#include <cstddef>

#include "nn/model.hpp"

namespace fedstride {

/// The shape of the image whose flattened values are the columns of a dense layer; {1, 1, inputs} if there is none.
inline Shape flattened_picture(const Model& model, int dense_layer) {
  const auto shapes = model.shapes();
  const auto made_by = [&](int slot) -> const Layer& { return model.layers()[static_cast<std::size_t>(slot - 1)]; };
  int slot = model.reads()[static_cast<std::size_t>(dense_layer)].from;
  const auto is_row = [&] {
    return shapes[static_cast<std::size_t>(slot)].size() ==
           static_cast<std::size_t>(shapes[static_cast<std::size_t>(slot)].channels);
  };
  // Goes back over layers that keep every value's place, until it reaches an image.
  while (slot > 0 && is_row() && std::visit([]<class Kind>(const Kind&) { return Kind::kTraits.keeps_places; }, made_by(slot)))
    slot = model.reads()[static_cast<std::size_t>(slot - 1)].from;
  return shapes[static_cast<std::size_t>(slot)];
}

/// Calls visit(index in the parameter, in this program's layout) for every value in PyTorch's order.
void for_each_in_pytorch_order(const Model& model, const Parameter& parameter, auto&& visit) {
  if (parameter.layout == ParameterLayout::convolution) {
    const auto outputs = static_cast<std::size_t>(parameter.shape[0]);
    const auto inputs = static_cast<std::size_t>(parameter.shape[1]);
    const auto positions = static_cast<std::size_t>(parameter.shape[2] * parameter.shape[3]);
    for (std::size_t output = 0; output < outputs; ++output)
      for (std::size_t input = 0; input < inputs; ++input)
        for (std::size_t position = 0; position < positions; ++position) visit((output * positions + position) * inputs + input);
  } else if (parameter.layout == ParameterLayout::dense) {
    const auto outputs = static_cast<std::size_t>(parameter.shape[0]);
    const bool of_values =
        model.is_sequence(static_cast<std::size_t>(parameter.layer)) || parameter.role == ParameterRole::second_weight;
    const Shape picture =
        of_values ? Shape{1, 1, static_cast<int>(parameter.shape[1])} : flattened_picture(model, parameter.layer);
    const auto channels = static_cast<std::size_t>(picture.channels);
    const std::size_t positions = picture.size() / channels;
    for (std::size_t output = 0; output < outputs; ++output)
      for (std::size_t channel = 0; channel < channels; ++channel)
        for (std::size_t position = 0; position < positions; ++position)
          visit((position * channels + channel) * outputs + output);
  } else {
    for (std::size_t i = 0; i < parameter.size; ++i) visit(i);
  }
}

}  // namespace fedstride
