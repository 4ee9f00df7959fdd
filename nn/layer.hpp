#pragma once

#include <string_view>
#include <variant>

namespace fedstride {

// The layers of a model line: plain descriptions. nn/reference.hpp defines their results with simple code; nn/network.hpp
// has the fast computation. Each layer declares:
//   kMixesExamples  one example's output depends on the others of its batch; such a layer has no per-example gradient,
//                   and private training refuses it
//   kHasParameters  it has tensors (layer_tensors in nn/model_line.hpp), and its stage must give their gradients
//   kKeepsPlaces    output i, counted in NHWC flatten order, stands where input i stood

/// conv CHANNELS KERNEL [STRIDE [PAD]] [stride S] [pad P] [nobias]: 2-d cross-correlation, square kernel, zero padding.
struct Conv {
  static constexpr std::string_view kName = "conv";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = true;
  static constexpr bool kKeepsPlaces = false;
  int channels = 1;
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  bool bias = true;
};

/// maxpool KERNEL [STRIDE] [pad P]: largest value of each window; padding is below every value.
struct MaxPool {
  static constexpr std::string_view kName = "maxpool";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = false;
  int kernel = 1;
  int stride = 1;
  int padding = 0;
};

/// avgpool KERNEL [STRIDE] [pad P]: mean of each window; padding is zeros that count in the mean.
struct AvgPool {
  static constexpr std::string_view kName = "avgpool";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = false;
  int kernel = 1;
  int stride = 1;
  int padding = 0;
};

/// dense UNITS|classes [nobias]: fully connected; a picture is flattened first.
struct Dense {
  static constexpr std::string_view kName = "dense";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = true;
  static constexpr bool kKeepsPlaces = false;
  int units = 1;
  bool bias = true;
};

struct Relu {
  static constexpr std::string_view kName = "relu";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = true;
};

struct Tanh {
  static constexpr std::string_view kName = "tanh";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = true;
};

/// leakyrelu [SLOPE]: x where it is positive, SLOPE x elsewhere (Maas et al., 2013).
struct LeakyRelu {
  static constexpr std::string_view kName = "leakyrelu";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = true;
  double slope = 0.01;
};

/// gelu: x times the standard normal distribution function of x (Hendrycks & Gimpel, 2016), not its approximation by tanh.
struct Gelu {
  static constexpr std::string_view kName = "gelu";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = true;
};

/// sigmoid: 1 / (1 + e^-x).
struct Sigmoid {
  static constexpr std::string_view kName = "sigmoid";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = true;
};

/// globalavgpool: the mean of each channel over the whole picture, a picture of one place.
struct GlobalAvgPool {
  static constexpr std::string_view kName = "globalavgpool";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = false;
};

/// dropout RATE: in training each value is zeroed with that probability, the others divided by 1 - RATE. Value i of a
/// row is drawn at address (dropout, round, client, step, row), word layer_offset + i (see nn/dropout.hpp).
struct Dropout {
  static constexpr std::string_view kName = "dropout";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = true;
  double rate = 0.5;
};

/// flatten: marks where a picture becomes a row; dense flattens its input anyway.
struct Flatten {
  static constexpr std::string_view kName = "flatten";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = true;
};

/// groupnorm GROUPS: channels in groups of equal size; the values of a group, over the whole picture, get mean 0 and
/// variance 1, then each channel its scale and shift (Wu & He, ECCV 2018). A row's values are channels of one place.
struct GroupNorm {
  static constexpr std::string_view kName = "groupnorm";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = true;
  static constexpr bool kKeepsPlaces = true;
  static constexpr double kEpsilon = 1e-5;  ///< added to the variance, as PyTorch does
  int groups = 1;
};

/// layernorm: the channels of each place get mean 0 and variance 1, then each channel its scale and shift (Ba, Kiros &
/// Hinton, 2016). A row's values are channels of one place.
struct LayerNorm {
  static constexpr std::string_view kName = "layernorm";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = true;
  static constexpr bool kKeepsPlaces = true;
  static constexpr double kEpsilon = 1e-5;  ///< added to the variance, as PyTorch does
};

/// embedding SIZE: the row of a table for each token, values from N(0, 1) at first. Makes a sequence.
struct Embedding {
  static constexpr std::string_view kName = "embedding";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = true;
  static constexpr bool kKeepsPlaces = false;
  int size = 1;
  int vocabulary = 1;  ///< the data's
};

/// positions: adds to each position of a sequence a vector of its own, learned, from N(0, 1) at first.
struct Positions {
  static constexpr std::string_view kName = "positions";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = true;
  static constexpr bool kKeepsPlaces = true;
};

/// lstm UNITS: long short-term memory (Hochreiter & Schmidhuber 1997, with forget gates by Gers et al. 2000), as PyTorch's
/// nn.LSTM of one level; makes the sequence of its outputs. Starts from zeros for every example.
struct Lstm {
  static constexpr std::string_view kName = "lstm";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = true;
  static constexpr bool kKeepsPlaces = false;
  int units = 1;
};

/// gru UNITS: gated recurrent unit (Cho et al. 2014), as PyTorch's nn.GRU of one level: the reset gate multiplies the
/// recurrent product with its bias.
struct Gru {
  static constexpr std::string_view kName = "gru";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = true;
  static constexpr bool kKeepsPlaces = false;
  int units = 1;
};

/// attention HEADS: causal self-attention (Vaswani et al. 2017): a position attends to itself and those before it. As
/// PyTorch's nn.MultiheadAttention, with biases, without dropout.
struct Attention {
  static constexpr std::string_view kName = "attention";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = true;
  static constexpr bool kKeepsPlaces = false;
  int heads = 1;
};

/// last: the last position of a sequence.
struct Last {
  static constexpr std::string_view kName = "last";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = false;
};

/// sequence: a picture's lines, one behind the other, as a sequence; a position has the values of a line.
struct Sequence {
  static constexpr std::string_view kName = "sequence";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = false;
};

// Layers that nobody writes: nn/model_blocks.hpp makes them of `residual { ... }`.

/// Begins a residual block: the values are read twice, by the block's body and by its shortcut.
struct Fork {
  static constexpr std::string_view kName = "fork";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = true;
};

/// Ends a residual block: the sum of body and shortcut (He et al., CVPR 2016, equation 1).
struct Add {
  static constexpr std::string_view kName = "add";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = true;
};

/// The shortcut without parameters (He et al., CVPR 2016, option A): every stride-th row and column, and channels of zeros
/// behind those that are there.
struct Subsample {
  static constexpr std::string_view kName = "subsample";
  static constexpr bool kMixesExamples = false;
  static constexpr bool kHasParameters = false;
  static constexpr bool kKeepsPlaces = false;
  int stride = 1;
  int channels = 1;
};

/// The registry of layers that a line may name. docs/architecture.md lists the parts of a new layer.
using WrittenLayer = std::variant<Conv, MaxPool, AvgPool, GlobalAvgPool, Dense, Relu, LeakyRelu, Gelu, Tanh, Sigmoid, Dropout,
                                  Flatten, GroupNorm, LayerNorm, Embedding, Positions, Lstm, Gru, Attention, Last, Sequence>;

namespace detail {
template <class Variant, class... More>
struct Extended;
template <class... Kinds, class... More>
struct Extended<std::variant<Kinds...>, More...> {
  using type = std::variant<Kinds..., More...>;
};
}  // namespace detail

/// Those, and what blocks are made of.
using Layer = detail::Extended<WrittenLayer, Fork, Add, Subsample>::type;

}  // namespace fedstride
