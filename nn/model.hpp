#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/running_statistics.hpp"
#include "core/shape.hpp"
#include "core/vector.hpp"
#include "data/example_form.hpp"
#include "nn/layer.hpp"
#include "nn/parameter.hpp"

namespace fedstride {

enum class Initialization {
  fan_in,   ///< weights and biases uniform in +-1/sqrt(fan-in) (PyTorch's default bounds; Koskela & Honkela's non-private code)
  fan_out,  ///< weights and biases uniform in +-1/sqrt(fan-out) (Koskela & Honkela's private code)
  glorot,   ///< weights uniform in +-sqrt(6/(fan-in + fan-out)), biases 0
};

/// The slots that a layer reads: slot 0 holds the model's input, slot i + 1 the output of layer i.
struct Reads {
  int from = 0;
  int added = -1;  ///< a second slot, added to the first; -1 for none
};

/// A model: a line of layers that ends in scores, which a loss compares with an example's answers; or tensors without layers,
/// which only user code can compute with (nn/tensor_line.hpp). It is an immutable value and holds no weights.
class Model {
 public:
  /// A named model (nn/models.hpp) or a line of layers: "conv 64 3 | relu | maxpool 3 2 | dense classes", with blocks
  /// (nn/model_blocks.hpp): "residual { conv 64 3 1 1 | relu }". Or tensors: "tensor fc.weight 10 784 | tensor fc.bias 10".
  /// Throws Error (usage) naming the layer and what is valid.
  static Model parse(std::string_view name_or_layers, const ExampleForm& examples);
  /// The same, for a classifier.
  static Model parse(std::string_view name_or_layers, Shape input, int classes) {
    return parse(name_or_layers, {input, classes});
  }

  const std::string& line() const { return line_; }  ///< the normalized layers; parse(line()) yields the same model
  const ExampleForm& form() const { return form_; }
  Shape input() const { return form_.shape; }
  int classes() const { return form_.outputs; }  ///< number of scores per example or per position
  std::span<const Layer> layers() const { return layers_; }
  /// False for a model of tensors only, whose scores only user code can compute.
  bool has_layers() const { return !layers_.empty(); }
  /// shapes()[i] is the shape of slot i: the input, then every layer's output.
  std::span<const Shape> shapes() const { return shapes_; }
  /// True if slot i holds a sequence of values (Flow::Form::sequence).
  bool is_sequence(std::size_t i) const { return sequences_[i]; }
  /// The slots that each layer reads: by default, that of the preceding layer. Each slot is read once, except a Fork's output,
  /// which is read by the block's body and then by its shortcut.
  std::span<const Reads> reads() const { return reads_; }
  std::span<const Parameter> parameters() const { return parameters_; }
  /// The parameter with this name ("conv1.weight") or nullptr.
  const Parameter* find(std::string_view name) const;

  /// The running statistics of all batch normalizations, in order.
  std::vector<RunningStatistics> running_statistics() const;

  /// The length of the flat vector: parameters and the padding between them.
  std::size_t size() const { return size_; }
  /// The number of parameters, without padding.
  std::size_t parameter_count() const;

  /// Initial weights, drawn at (initial_weights, client = parameter index) from the seed only. Scales are 1; shifts, padding and
  /// all values of a model of tensors only are 0.
  Vector initial(Initialization initialization, std::uint64_t seed) const;

  /// One flag per layer, true if `names` lists the layer, as in "conv1,conv2". Throws Error (usage) for an unknown layer name.
  std::vector<bool> frozen(std::string_view names) const { return layers_named(names, "layer to freeze"); }
  /// The same for layers with another `purpose`, which errors mention: "layer to freeze".
  std::vector<bool> layers_named(std::string_view names, std::string_view purpose) const;

 private:
  static Model of_tensors(std::string_view line, const ExampleForm& examples);
  void add(Parameter parameter, const std::string& where);

  std::string line_;
  ExampleForm form_;
  std::vector<Layer> layers_;
  std::vector<Shape> shapes_;
  std::vector<bool> sequences_;
  std::vector<Reads> reads_;
  std::vector<Parameter> parameters_;
  std::size_t size_ = 0;
};

}  // namespace fedstride
