#pragma once

#include <algorithm>

#include "nn/kernels/buffer.hpp"
#include "nn/kernels/dense.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// A dense layer and the ReLU behind it, if any. Its weight gradient is handed over in stretches of a few inputs as soon
/// as it is computed. Backwards, few rows have both gradients computed at once, so that each weight is read once; many
/// have the data gradient of a piece's inputs computed first, then their weight gradient.
class DenseStage {
 public:
  struct Options {
    int inputs = 1;
    int outputs = 1;
    bool relu = false;
    LayerTensors tensors;
    bool data_gradient = false;
  };

  DenseStage(const Options& options, int max_rows);

  /// How many pieces a batch of `rows` is cut into, forwards (by outputs) and backwards (by inputs).
  int forward_pieces(int rows) const;
  int backward_pieces(int rows) const;

  void prepare_training();
  void begin(const float* weights) { weights_ = weights; }
  void forward_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows);

  int stretches() const { return weight_stretches_ + (options_.tensors.bias.size > 0 ? 1 : 0); }
  bool trains() const { return !options_.tensors.frozen; }
  int outputs() const { return options_.outputs; }
  /// Whether both gradients of so many rows are best computed at once.
  static bool fuses(int rows) { return rows <= kFusedRows; }

  /// Applies the ReLU to out.gradient: once, before anything else backwards.
  void begin_backward(const Signal& out, int rows) const;
  /// Adds the squared norm of each example's weight gradient to squared_norms.
  void add_norms(const Signal& in, const Signal& out, int rows, double* squared_norms) const;
  void data_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows) const;
  /// Reports the bias: once.
  void report_bias(const OutputGradients& gradients, const GradientTarget& target);
  void weight_piece(int piece, int pieces, const Signal& in, const OutputGradients& gradients,
                    const GradientTarget& target);
  /// Data and weight gradient of a few rows.
  void fused_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows, const GradientTarget& target);

 private:
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
};

}  // namespace fedstride
