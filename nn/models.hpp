#pragma once

#include <array>
#include <string_view>

#include "nn/model.hpp"

namespace fedstride {

/// A named model: its line of layers and the initialization that its source uses.
struct NamedModel {
  std::string_view name;
  std::string_view line;
  Initialization initialization;
  std::string_view summary;
  ExampleForm form = {{32, 32, 3}, 10};  ///< examples that it can read: those of its source, but images may have another shape
};

/// The registry: add a new named model here.
inline constexpr std::array kNamedModels{
    NamedModel{"adadp-cnn",
               "conv 64 3 | relu | maxpool 3 2 | conv 64 3 | relu | maxpool 3 2 | "
               "dense 500 | relu | dense 500 | relu | dense classes",
               Initialization::fan_in, "the CIFAR-10 network of Koskela & Honkela's code"},
    NamedModel{"adadp-mlp", "dense 256 nobias | relu | dense 256 nobias | relu | dense 256 nobias | relu | dense classes nobias",
               Initialization::fan_in, "the MNIST network of Koskela & Honkela: three layers of 256 units, no biases"},
    NamedModel{"yu-cnn", "conv 10 5 | maxpool 2 2 | relu | conv 20 5 | maxpool 2 2 | relu | dense 50 | relu | dense classes",
               Initialization::fan_in, "the MNIST network of Yu et al."},
    NamedModel{"logistic", "dense classes", Initialization::fan_in, "softmax regression"},
    NamedModel{"abadi-mlp", "dense 1000 | relu | dense classes", Initialization::fan_in,
               "the MNIST network of Abadi et al.: 1000 hidden units"},
    NamedModel{"covertype-mlp", "dense 100 | tanh | dense 100 | tanh | dense classes", Initialization::fan_in,
               "two hidden layers of 100 tanh units, for tabular data"},
    NamedModel{"pfl-cnn",
               "conv 32 3 | relu | conv 64 3 | relu | maxpool 2 2 | dropout 0.25 | "
               "dense 128 | relu | dropout 0.5 | dense classes",
               Initialization::glorot, "the CIFAR-10 network of pfl-research's benchmark"},
    NamedModel{"tutorial-cnn",
               "conv 16 8 stride 2 pad 3 | relu | maxpool 2 1 | conv 32 4 stride 2 | relu | maxpool 2 1 | "
               "dense 32 | relu | dense classes",
               Initialization::glorot, "the MNIST network of TensorFlow Privacy's tutorial"},
    NamedModel{"femnist-cnn",
               "conv 32 5 pad 2 | relu | maxpool 2 2 | conv 64 5 pad 2 | relu | maxpool 2 2 | dense 2048 | relu | dense classes",
               Initialization::glorot,
               "the FEMNIST network of LEAF",
               {{28, 28, 1}, 62}},
    NamedModel{"simple-cnn",
               "conv 6 5 | relu | maxpool 2 2 | conv 16 5 | relu | maxpool 2 2 | dense 120 | relu | dense 84 | relu | "
               "dense classes",
               Initialization::fan_in, "the image network of NIID-Bench"},
    NamedModel{"resnet8-gn",
               "conv 16 3 pad 1 nobias | groupnorm 8 | relu | "
               "residual { conv 16 3 pad 1 nobias | groupnorm 8 | relu | "
               "conv 16 3 pad 1 nobias | groupnorm 8 } | relu | "
               "residual pad { conv 32 3 stride 2 pad 1 nobias | groupnorm 8 | relu | "
               "conv 32 3 pad 1 nobias | groupnorm 8 } | relu | "
               "residual pad { conv 64 3 stride 2 pad 1 nobias | groupnorm 8 | relu | "
               "conv 64 3 pad 1 nobias | groupnorm 8 } | relu | "
               "globalavgpool | dense classes",
               Initialization::fan_in,
               "He et al.'s CIFAR-10 network of 8 layers, parameter-free shortcuts (option A), group norm (8 groups) instead of "
               "batch norm"},
    NamedModel{"resnet20-gn",
               "conv 16 3 pad 1 nobias | groupnorm 8 | relu | "
               "repeat 3 { residual { conv 16 3 pad 1 nobias | groupnorm 8 | relu | "
               "conv 16 3 pad 1 nobias | groupnorm 8 } | relu } | "
               "residual pad { conv 32 3 stride 2 pad 1 nobias | groupnorm 8 | relu | "
               "conv 32 3 pad 1 nobias | groupnorm 8 } | relu | "
               "repeat 2 { residual { conv 32 3 pad 1 nobias | groupnorm 8 | relu | "
               "conv 32 3 pad 1 nobias | groupnorm 8 } | relu } | "
               "residual pad { conv 64 3 stride 2 pad 1 nobias | groupnorm 8 | relu | "
               "conv 64 3 pad 1 nobias | groupnorm 8 } | relu | "
               "repeat 2 { residual { conv 64 3 pad 1 nobias | groupnorm 8 | relu | "
               "conv 64 3 pad 1 nobias | groupnorm 8 } | relu } | "
               "globalavgpool | dense classes",
               Initialization::fan_in,
               "He et al.'s CIFAR-10 network of 20 layers, parameter-free shortcuts (option A), group norm (8 groups) instead of "
               "batch norm"},
    NamedModel{"resnet20",
               "conv 16 3 pad 1 nobias | batchnorm | relu | "
               "repeat 3 { residual { conv 16 3 pad 1 nobias | batchnorm | relu | "
               "conv 16 3 pad 1 nobias | batchnorm } | relu } | "
               "residual pad { conv 32 3 stride 2 pad 1 nobias | batchnorm | relu | "
               "conv 32 3 pad 1 nobias | batchnorm } | relu | "
               "repeat 2 { residual { conv 32 3 pad 1 nobias | batchnorm | relu | "
               "conv 32 3 pad 1 nobias | batchnorm } | relu } | "
               "residual pad { conv 64 3 stride 2 pad 1 nobias | batchnorm | relu | "
               "conv 64 3 pad 1 nobias | batchnorm } | relu | "
               "repeat 2 { residual { conv 64 3 pad 1 nobias | batchnorm | relu | "
               "conv 64 3 pad 1 nobias | batchnorm } | relu } | "
               "globalavgpool | dense classes",
               Initialization::fan_in, "He et al.'s CIFAR-10 network of 20 layers, parameter-free shortcuts (option A)"},
    NamedModel{"resnet18-gn",
               "conv 64 3 pad 1 nobias | groupnorm 32 | relu | "
               "repeat 2 { residual { conv 64 3 pad 1 nobias | groupnorm 32 | relu | "
               "conv 64 3 pad 1 nobias | groupnorm 32 } | relu } | "
               "residual { conv 128 3 stride 2 pad 1 nobias | groupnorm 32 | relu | "
               "conv 128 3 pad 1 nobias | groupnorm 32 } | relu | "
               "residual { conv 128 3 pad 1 nobias | groupnorm 32 | relu | "
               "conv 128 3 pad 1 nobias | groupnorm 32 } | relu | "
               "residual { conv 256 3 stride 2 pad 1 nobias | groupnorm 32 | relu | "
               "conv 256 3 pad 1 nobias | groupnorm 32 } | relu | "
               "residual { conv 256 3 pad 1 nobias | groupnorm 32 | relu | "
               "conv 256 3 pad 1 nobias | groupnorm 32 } | relu | "
               "residual { conv 512 3 stride 2 pad 1 nobias | groupnorm 32 | relu | "
               "conv 512 3 pad 1 nobias | groupnorm 32 } | relu | "
               "residual { conv 512 3 pad 1 nobias | groupnorm 32 | relu | "
               "conv 512 3 pad 1 nobias | groupnorm 32 } | relu | "
               "globalavgpool | dense classes",
               Initialization::fan_in,
               "He et al.'s network of 18 layers with a 3x3 stem, projection shortcuts (option B), group norm (32 groups) "
               "instead of batch norm"},
    NamedModel{"resnet18",
               "conv 64 3 pad 1 nobias | batchnorm | relu | "
               "repeat 2 { residual { conv 64 3 pad 1 nobias | batchnorm | relu | "
               "conv 64 3 pad 1 nobias | batchnorm } | relu } | "
               "residual { conv 128 3 stride 2 pad 1 nobias | batchnorm | relu | "
               "conv 128 3 pad 1 nobias | batchnorm } | relu | "
               "residual { conv 128 3 pad 1 nobias | batchnorm | relu | "
               "conv 128 3 pad 1 nobias | batchnorm } | relu | "
               "residual { conv 256 3 stride 2 pad 1 nobias | batchnorm | relu | "
               "conv 256 3 pad 1 nobias | batchnorm } | relu | "
               "residual { conv 256 3 pad 1 nobias | batchnorm | relu | "
               "conv 256 3 pad 1 nobias | batchnorm } | relu | "
               "residual { conv 512 3 stride 2 pad 1 nobias | batchnorm | relu | "
               "conv 512 3 pad 1 nobias | batchnorm } | relu | "
               "residual { conv 512 3 pad 1 nobias | batchnorm | relu | "
               "conv 512 3 pad 1 nobias | batchnorm } | relu | "
               "globalavgpool | dense classes",
               Initialization::fan_in, "He et al.'s network of 18 layers with a 3x3 stem, projection shortcuts (option B)"},
    NamedModel{"leaf-lstm",
               "embedding 8 | lstm 256 | lstm 256 | last | dense classes",
               Initialization::fan_in,
               "the Shakespeare network of LEAF: the next character after a line",
               {{80, 1, 1}, 80, Targets::classes, 80}},
    NamedModel{"shakespeare-lstm",
               "embedding 8 | lstm 256 | lstm 256 | dense classes",
               Initialization::fan_in,
               "the Shakespeare network of Reddi et al.: the next character at every position",
               {{80, 1, 1}, 90, Targets::positions, 90}},
    NamedModel{"stackoverflow-lstm",
               "embedding 96 | lstm 670 | dense 96 | dense classes",
               Initialization::fan_in,
               "the Stack Overflow network of Reddi et al.: the next word at every position",
               {{20, 1, 1}, 10'004, Targets::positions, 10'004}},
    NamedModel{"small-transformer",
               "embedding 128 | positions | repeat 2 { residual { layernorm | attention 4 } | "
               "residual { layernorm | dense 512 | gelu | dense 128 } } | layernorm | dense classes",
               Initialization::fan_in,
               "a causal transformer with 2 blocks, width 128, 4 heads and pre-norm (as in GPT-2)",
               {{20, 1, 1}, 90, Targets::positions, 90}},
};

/// The model with this name or nullptr.
constexpr const NamedModel* find_named_model(std::string_view name) {
  for (const auto& model : kNamedModels)
    if (model.name == name) return &model;
  return nullptr;
}

}  // namespace fedstride
