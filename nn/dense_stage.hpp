#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "nn/kernels/buffer.hpp"
#include "nn/kernels/dense.hpp"
#include "nn/layer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// A dense layer, including a ReLU that may follow it; for a sequence, the same product at every position. It reads its weights
/// once for the whole batch and is cut into pieces, by outputs in the forward pass and by inputs in the backward pass. It reports
/// its weight gradient in stretches of a few inputs as soon as they are computed. In the backward pass, both gradients are
/// computed at once for few rows, so each weight is read once; for many rows, a piece's data gradient is computed before its
/// weight gradient.
class DenseStage {
 public:
  /// A product y = x W + b. A sequence consists of `positions` rows of x and y, row_stride(inputs) and row_stride(outputs) floats
  /// apart.
  struct Options {
    int inputs = 1;
    int outputs = 1;
    int positions = 1;
    bool relu = false;
    Tensor weight;
    Tensor bias;  ///< size 0 if missing
    bool frozen = false;
    bool data_gradient = false;

    /// Options for the next layer's first or second product, with its weight and bias or its second weight and bias, at every
    /// position.
    static Options first_product(const LayerCursor& layers, int inputs, int outputs);
    static Options second_product(const LayerCursor& layers, int inputs, int outputs);
  };

  explicit DenseStage(LayerCursor& layers);
  DenseStage(const Options& options, int max_rows);

  int forward_pieces(int rows) const;
  int backward_pieces(int rows) const;

  void prepare_training();
  void prepare_per_example();
  void begin(const float* weights) { weights_ = weights; }
  void forward_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows);

  int stretches() const { return weight_stretches_ + (options_.bias.size > 0 ? 1 : 0); }
  bool trains() const { return !options_.frozen; }

  /// For a backward pass, call begin_backward, then backward_piece for every piece.
  void begin_backward(const Signal& out, int rows, const GradientTarget& target);
  void backward_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows, const GradientTarget& target);

  /// For norms, call begin_norms, which adds to squared_norms if the stage trains, and then, if an earlier stage trains,
  /// data_piece for every piece.
  void begin_norms(const Signal& in, const Signal& out, int rows, double* squared_norms);
  void data_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows) const;

  /// For weighted sums, call begin_weighted with scratch_size() floats, which the stage may use until the last weighted_piece,
  /// and then weighted_piece for every piece.
  std::size_t scratch_size() const;
  void begin_weighted(const Signal& out, std::span<const float> factors, float* scratch, const SumTarget& target);
  void weighted_piece(int piece, int pieces, const Signal& in, const SumTarget& target) const;

 private:
  static Options options_of(LayerCursor& layers);
  /// The positions of all examples as consecutive rows.
  Rows positions_of(Rows rows) const { return {rows.data, rows.stride / static_cast<std::size_t>(options_.positions)}; }
  int count_of(int rows) const { return rows * options_.positions; }
  /// Zeroes the gradients in out.gradient that the ReLU blocks. Must be called once, before any other backward step.
  void mask(const Signal& out, int rows) const;
  void report_bias(const OutputGradients& gradients, const GradientTarget& target);
  void weight_piece(int piece, int pieces, const Signal& in, const OutputGradients& gradients,
                    const GradientTarget& target) const;
  /// Computes the data and weight gradients of a few rows at once.
  void fused_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows, const GradientTarget& target) const;
  struct Stretches {
    int first = 0;
    int last = 0;
  };
  /// The number of stretches whose gradients are computed at once from `count` rows.
  int stretches_per_group(int count, bool in_double = false) const;
  /// Calls compute(gradient, first input, last input) for every group of stretches, then report(slot, offset among the weights,
  /// gradient, size) for each stretch of the group.
  template <class T, class Compute, class Report>
  void for_each_stretch(Stretches stretches, int count, Compute&& compute, Report&& report) const;
  /// Computes the stretches of a piece and reports them to the target.
  template <class T, class Compute>
  void report_weights(int piece, int pieces, int count, const TargetOf<T>& target, Compute&& compute) const;
  /// The output gradients at an example's positions.
  OutputGradients gradients_of(Rows out, int row) const { return {{out[row], positions_of(out).stride}, options_.positions}; }
  std::size_t work(int rows) const { return static_cast<std::size_t>(count_of(rows)) * options_.inputs * options_.outputs; }
  int first_stretch(int piece, int pieces) const { return weight_stretches_ * piece / pieces; }
  int first_input(int stretch) const { return std::min(stretch * inputs_per_stretch_, options_.inputs); }

  Options options_;
  int max_rows_;
  int inputs_per_stretch_ = 1;
  int weight_stretches_ = 1;
  const float* weights_ = nullptr;
  Buffer<float> bias_gradient_;
  // only for weighted_sum
  OutputGradients scaled_;  ///< output gradients times the factors
  std::vector<int> scaled_examples_;
  Rows out_gradients_;  ///< for sequences
  std::span<const float> factors_;
};

}  // namespace fedstride
