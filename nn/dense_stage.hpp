#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "nn/kernels/buffer.hpp"
#include "nn/kernels/dense.hpp"
#include "nn/layer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// A dense layer and the ReLU after it, if any. It reports its weight gradient in stretches of a few inputs as soon as it
/// is computed. Backwards, for few rows both gradients are computed at once, so that each weight is read once; for many
/// rows the data gradient of a piece's inputs is computed first, then their weight gradient.
class DenseStage {
 public:
  using Layer = Dense;

  explicit DenseStage(LayerCursor& layers);

  // Pieces: forwards by outputs, backwards by inputs.
  int forward_pieces(int rows) const;
  int backward_pieces(int rows) const;

  void prepare_training();
  void prepare_gradient() {}
  void prepare_per_example() { scaled_examples_.resize(trains() ? static_cast<std::size_t>(max_rows_) : 0); }
  void begin(const float* weights) { weights_ = weights; }
  void forward_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows);

  int stretches() const { return weight_stretches_ + (options_.tensors.bias.size > 0 ? 1 : 0); }
  bool trains() const { return !options_.tensors.frozen; }

  void begin_backward(const Signal& out, int rows, const GradientTarget& target);
  void backward_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows, const GradientTarget& target);

  void begin_norms(const Signal& in, const Signal& out, int rows, double* squared_norms) const;
  void data_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows) const;

  std::size_t scratch_size() const;
  void begin_weighted(const Signal& out, std::span<const float> factors, float* scratch, const GradientTarget& target);
  void weighted_piece(int piece, int pieces, const Signal& in, const GradientTarget& target) {
    weight_piece(piece, pieces, in, scaled_, target);
  }

 private:
  struct Options {
    int inputs = 1;
    int outputs = 1;
    bool relu = false;
    LayerTensors tensors;
    bool data_gradient = false;
  };
  static Options options_of(LayerCursor& layers);
  /// Applies the ReLU to out.gradient: once, before anything else backwards.
  void mask(const Signal& out, int rows) const;
  void report_bias(const OutputGradients& gradients, const GradientTarget& target);
  void weight_piece(int piece, int pieces, const Signal& in, const OutputGradients& gradients, const GradientTarget& target);
  /// Data and weight gradient of a few rows.
  void fused_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows, const GradientTarget& target);
  /// Calls body(gradient, first input, last input) for every stretch of a piece and reports the gradient it wrote.
  template <class Body>
  void for_each_stretch(int piece, int pieces, const GradientTarget& target, Body&& body);
  std::size_t work(int rows) const { return static_cast<std::size_t>(rows) * options_.inputs * options_.outputs; }
  int first_stretch(int piece, int pieces) const { return weight_stretches_ * piece / pieces; }
  int first_input(int stretch) const { return std::min(stretch * inputs_per_stretch_, options_.inputs); }

  Options options_;
  int max_rows_;
  int inputs_per_stretch_ = 1;
  int weight_stretches_ = 1;
  const float* weights_ = nullptr;
  Buffer<float> bias_gradient_;
  Buffer<float> weight_gradient_;
  // weighted_sum only
  OutputGradients scaled_;  ///< output gradients times the factors
  std::vector<int> scaled_examples_;
};
static_assert(BatchStage<DenseStage>);

}  // namespace fedstride
