#pragma once

#include <array>
#include <string_view>

#include "nn/model.hpp"

namespace fedstride {

/// A model that has a name: its line of layers and the starting weights its source uses.
struct NamedModel {
  std::string_view name;
  std::string_view line;
  Initialisation initialisation;
  std::string_view summary;
};

/// The registry: a new named model is a line here.
inline constexpr std::array kNamedModels{
    NamedModel{"adadp-cnn",
               "conv 64 3 | relu | maxpool 3 2 | conv 64 3 | relu | maxpool 3 2 | "
               "dense 500 | relu | dense 500 | relu | dense classes",
               Initialisation::fan_in, "the CIFAR-10 network of Koskela & Honkela's code"},
    NamedModel{"adadp-mlp", "dense 256 nobias | relu | dense 256 nobias | relu | dense 256 nobias | relu | dense classes nobias",
               Initialisation::fan_in, "the MNIST network of Koskela & Honkela: three layers of 256, no biases"},
    NamedModel{"yu-cnn", "conv 10 5 | maxpool 2 2 | relu | conv 20 5 | maxpool 2 2 | relu | dense 50 | relu | dense classes",
               Initialisation::fan_in, "the MNIST network of Yu et al."},
    NamedModel{"logistic", "dense classes", Initialisation::fan_in, "softmax regression"},
    NamedModel{"abadi-mlp", "dense 1000 | relu | dense classes", Initialisation::fan_in,
               "the MNIST network of Abadi et al.: 1000 hidden units"},
    NamedModel{"covertype-mlp", "dense 100 | tanh | dense 100 | tanh | dense classes", Initialisation::fan_in,
               "two hidden layers of 100 tanh units, for plain features"},
    NamedModel{"pfl-cnn",
               "conv 32 3 | relu | conv 64 3 | relu | maxpool 2 2 | dropout 0.25 | "
               "dense 128 | relu | dropout 0.5 | dense classes",
               Initialisation::glorot, "the CIFAR-10 network of pfl-research's benchmark"},
    NamedModel{"tutorial-cnn",
               "conv 16 8 stride 2 pad 3 | relu | maxpool 2 1 | conv 32 4 stride 2 | relu | maxpool 2 1 | "
               "dense 32 | relu | dense classes",
               Initialisation::glorot, "the MNIST network of TensorFlow Privacy's tutorial"},
};

/// The model of that name or nullptr.
constexpr const NamedModel* find_named_model(std::string_view name) {
  for (const auto& model : kNamedModels)
    if (model.name == name) return &model;
  return nullptr;
}

}  // namespace fedstride
