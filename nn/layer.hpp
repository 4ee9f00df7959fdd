#pragma once

#include <string_view>
#include <variant>

namespace fedstride {

// The layers of a model line, as plain descriptions. tests/kits/reference.hpp defines their results with simple code;
// nn/network.hpp has the fast computation.

struct LayerTraits {
  /// An example's output depends on others in its batch, so it has no gradient of its own: private training refuses the layer.
  bool mixes_examples = false;
  bool has_parameters =
      false;                   ///< it has tensors (layer_tensors in nn/model_line.hpp), and its stage must report their gradients
  bool keeps_places = false;   ///< output i, in NHWC flatten order, is at the place of input i
  bool is_activation = false;  ///< it keeps places, and output i depends on input i alone (nn/activation_stages.cpp)
};

/// conv CHANNELS KERNEL [STRIDE [PAD]] [stride S] [pad P] [nobias]: 2-d cross-correlation, square kernel, zero padding.
struct Conv {
  static constexpr std::string_view kName = "conv";
  static constexpr LayerTraits kTraits{.has_parameters = true};
  int channels = 1;
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  bool bias = true;
};

/// maxpool KERNEL [STRIDE] [pad P]: largest value of each window; padding is smaller than any value.
struct MaxPool {
  static constexpr std::string_view kName = "maxpool";
  static constexpr LayerTraits kTraits{};
  int kernel = 1;
  int stride = 1;
  int padding = 0;
};

/// avgpool KERNEL [STRIDE] [pad P]: mean of each window; padding is zeros, which count in the mean.
struct AvgPool {
  static constexpr std::string_view kName = "avgpool";
  static constexpr LayerTraits kTraits{};
  int kernel = 1;
  int stride = 1;
  int padding = 0;
};

/// dense UNITS|classes [nobias]: fully connected; an image is flattened first.
struct Dense {
  static constexpr std::string_view kName = "dense";
  static constexpr LayerTraits kTraits{.has_parameters = true};
  int units = 1;
  bool bias = true;
};

struct Relu {
  static constexpr std::string_view kName = "relu";
  static constexpr LayerTraits kTraits{.keeps_places = true, .is_activation = true};
};

struct Tanh {
  static constexpr std::string_view kName = "tanh";
  static constexpr LayerTraits kTraits{.keeps_places = true, .is_activation = true};
};

/// leakyrelu [SLOPE]: x if positive, otherwise SLOPE x (Maas et al., 2013).
struct LeakyRelu {
  static constexpr std::string_view kName = "leakyrelu";
  static constexpr LayerTraits kTraits{.keeps_places = true, .is_activation = true};
  double slope = 0.01;
};

/// gelu: x times the standard normal distribution function of x (Hendrycks & Gimpel, 2016), not the tanh approximation.
struct Gelu {
  static constexpr std::string_view kName = "gelu";
  static constexpr LayerTraits kTraits{.keeps_places = true, .is_activation = true};
};

/// sigmoid: 1 / (1 + e^-x).
struct Sigmoid {
  static constexpr std::string_view kName = "sigmoid";
  static constexpr LayerTraits kTraits{.keeps_places = true, .is_activation = true};
};

/// globalavgpool: the mean of each channel over the whole image; the output is an image of one place.
struct GlobalAvgPool {
  static constexpr std::string_view kName = "globalavgpool";
  static constexpr LayerTraits kTraits{};
};

/// dropout RATE: in training, each value is zeroed with this probability, and the others are divided by 1 - RATE. Value i of a
/// row is drawn at address (dropout, round, client, step, row), word first_word + i (see nn/dropout.hpp).
struct Dropout {
  static constexpr std::string_view kName = "dropout";
  static constexpr LayerTraits kTraits{.keeps_places = true};
  double rate = 0.5;
};

/// flatten: marks where an image becomes a row; dense flattens its input in any case.
struct Flatten {
  static constexpr std::string_view kName = "flatten";
  static constexpr LayerTraits kTraits{.keeps_places = true};
};

/// groupnorm GROUPS: channels are split into groups of equal size; the values of a group, over the whole image, are normalized to
/// mean 0 and variance 1, then each channel is scaled and shifted (Wu & He, ECCV 2018). A row's values count as channels of one
/// place.
struct GroupNorm {
  static constexpr std::string_view kName = "groupnorm";
  static constexpr LayerTraits kTraits{.has_parameters = true, .keeps_places = true};
  static constexpr double kEpsilon = 1e-5;  ///< added to the variance, as PyTorch does
  int groups = 1;
};

/// batchnorm [MOMENTUM|cumulative]: each channel is normalized to mean 0 and variance 1 over the batch and the image, then scaled and
/// shifted (Ioffe & Szegedy, ICML 2015). Running averages of mean and variance, in which a batch has weight MOMENTUM, replace the batch's in
/// evaluation and in a frozen layer. A row's values are channels of one place.
struct BatchNorm {
  static constexpr std::string_view kName = "batchnorm";
  static constexpr LayerTraits kTraits{.mixes_examples = true, .has_parameters = true, .keeps_places = true};
  static constexpr double kEpsilon = 1e-5;  ///< added to the variance, as PyTorch does
  double momentum = 0.1;                    ///< 0: cumulative, the plain average of the batches of a client's training in a round
};

/// layernorm: the channels of each place are normalized to mean 0 and variance 1, then each channel is scaled and shifted (Ba,
/// Kiros & Hinton, 2016). A row's values count as channels of one place.
struct LayerNorm {
  static constexpr std::string_view kName = "layernorm";
  static constexpr LayerTraits kTraits{.has_parameters = true, .keeps_places = true};
  static constexpr double kEpsilon = 1e-5;  ///< added to the variance, as PyTorch does
};

/// embedding SIZE: looks up a table row for each token; the table is initialized from N(0, 1). Outputs a sequence.
struct Embedding {
  static constexpr std::string_view kName = "embedding";
  static constexpr LayerTraits kTraits{.has_parameters = true};
  int size = 1;
  int vocabulary = 1;  ///< vocabulary size of the data
};

/// positions: adds a learned vector, initialized from N(0, 1), to each position of a sequence.
struct Positions {
  static constexpr std::string_view kName = "positions";
  static constexpr LayerTraits kTraits{.has_parameters = true, .keeps_places = true};
};

/// lstm UNITS: long short-term memory (Hochreiter & Schmidhuber 1997, with forget gates by Gers et al. 2000), like PyTorch's
/// nn.LSTM with one layer; outputs the whole sequence. Every example starts from zeros.
struct Lstm {
  static constexpr std::string_view kName = "lstm";
  static constexpr LayerTraits kTraits{.has_parameters = true};
  int units = 1;
};

/// gru UNITS: gated recurrent unit (Cho et al. 2014), like PyTorch's nn.GRU with one layer: the reset gate multiplies the
/// recurrent product including its bias.
struct Gru {
  static constexpr std::string_view kName = "gru";
  static constexpr LayerTraits kTraits{.has_parameters = true};
  int units = 1;
};

/// attention HEADS: causal self-attention (Vaswani et al. 2017): a position attends to itself and earlier ones. Like PyTorch's
/// nn.MultiheadAttention, with biases and without dropout.
struct Attention {
  static constexpr std::string_view kName = "attention";
  static constexpr LayerTraits kTraits{.has_parameters = true};
  int heads = 1;
};

/// last: outputs the last position of a sequence.
struct Last {
  static constexpr std::string_view kName = "last";
  static constexpr LayerTraits kTraits{};
};

/// sequence: turns an image's rows, in order, into a sequence; each position holds the values of one row.
struct Sequence {
  static constexpr std::string_view kName = "sequence";
  static constexpr LayerTraits kTraits{};
};

// Layers that cannot be written in a line: nn/model_blocks.hpp makes them from `residual { ... }`.

/// Begins a residual block. Its values are read twice: by the block's body and by its shortcut.
struct Fork {
  static constexpr std::string_view kName = "fork";
  static constexpr LayerTraits kTraits{.keeps_places = true};
};

/// Ends a residual block: the sum of body and shortcut (He et al., CVPR 2016, equation 1).
struct Add {
  static constexpr std::string_view kName = "add";
  static constexpr LayerTraits kTraits{.keeps_places = true};
};

/// The shortcut without parameters (He et al., CVPR 2016, option A): every stride-th row and column, with channels of zeros
/// appended.
struct Subsample {
  static constexpr std::string_view kName = "subsample";
  static constexpr LayerTraits kTraits{};
  int stride = 1;
  int channels = 1;
};

/// The registry of layers that can be written in a line. tools/new-part adds one.
using WrittenLayer =
    std::variant<Conv, MaxPool, AvgPool, GlobalAvgPool, Dense, Relu, LeakyRelu, Gelu, Tanh, Sigmoid, Dropout, Flatten, BatchNorm,
                 GroupNorm, LayerNorm, Embedding, Positions, Lstm, Gru, Attention, Last, Sequence>;

namespace detail {
template <class Variant, class... More>
struct Extended;
template <class... Kinds, class... More>
struct Extended<std::variant<Kinds...>, More...> {
  using type = std::variant<Kinds..., More...>;
};
}  // namespace detail

/// The layers that can be written in a line and those that make up blocks.
using Layer = detail::Extended<WrittenLayer, Fork, Add, Subsample>::type;

}  // namespace fedstride
