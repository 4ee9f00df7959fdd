#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/example_form.hpp"
#include "nn/layer.hpp"
#include "nn/parameter.hpp"

namespace fedstride {

/// The text of a layer, its output shape and its tensors; model_line.cpp has one section with all of this for each layer.

/// The maximum number of values of one example anywhere in the line: before, between or after the layers.
inline constexpr std::size_t kMaxValues = std::size_t{1} << 28;

/// A layer's place in a model line; errors about the layer begin with it.
struct LayerPlace {
  int number = 1;    ///< counted from 1
  std::string text;  ///< its words, separated by single spaces
  std::string name() const { return "layer " + std::to_string(number) + " '" + text + "'"; }
};

/// The values between two layers: their shape and their meaning.
struct Flow {
  enum class Form {
    picture,            ///< the only input of conv and pools
    row,                ///< features, or the units of a dense layer
    flattened_picture,  ///< a row whose values PyTorch orders differently, channels first
    tokens,             ///< height tokens; the only input of embedding
    sequence,           ///< height positions of channels values each
  };
  Shape shape;
  Form form = Form::picture;
};

/// One tensor of a layer; its shape is as in PyTorch.
struct TensorForm {
  ParameterRole role;
  ParameterLayout layout;
  std::vector<std::int64_t> shape;
  std::string_view name = {};  ///< PyTorch's name, if it does not follow from the role: "weight_hh_l0"
  std::int64_t fan_in = 0;     ///< Parameter::fan_in
};

/// A layer's tensors, in the order of the flat vector, and the prefix of their names ("conv", "fc").
struct LayerTensorForms {
  std::string_view prefix;
  std::vector<TensorForm> forms;
};

/// Reads the layer at this place, a WrittenLayer; "dense classes" has as many units as the examples have outputs, "embedding 8"
/// one row for each token of their vocabulary. Throws Error (usage).
Layer read_layer(const LayerPlace& place, const ExampleForm& examples);
/// The normalized text, from which read_layer returns the same layer.
std::string layer_text(const Layer& layer);
/// The output of the layer. Throws Error (usage) if the layer does not fit its input.
Flow layer_output(const Layer& layer, const Flow& input, const LayerPlace& place);
/// The tensors of a layer; none if it has no parameters. The layer must fit its input.
LayerTensorForms layer_tensors(const Layer& layer, const Flow& input);

}  // namespace fedstride
