#pragma once

#include "nn/kernels/buffer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// A dense layer and the ReLU behind it, if any. Its weight gradient is handed over in stretches of a few inputs as soon
/// as it is computed, and the data gradient of the same inputs just before: each weight is read once on the way back.
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
  /// Applies the ReLU to out.gradient and reports the bias: once, before the pieces.
  void begin_backward(const Signal& out, int rows, const GradientTarget& target);
  void backward_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows,
                      const GradientTarget& target);

 private:
  std::size_t work(int rows) const { return static_cast<std::size_t>(rows) * options_.inputs * options_.outputs; }

  Options options_;
  int max_rows_;
  int inputs_per_stretch_ = 1;
  int weight_stretches_ = 1;
  int max_backward_pieces_ = 1;
  const float* weights_ = nullptr;
  Buffer<float> bias_gradient_;
  Buffer<float> weight_gradient_;
};

}  // namespace fedstride
