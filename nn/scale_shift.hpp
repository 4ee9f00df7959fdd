#pragma once

#include <span>

#include "nn/kernels/buffer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// Scale and shift of a normalisation, a number of each a channel: the part of its stage that has parameters. Each example's gradient is kept until they are summed in
/// row order, so that neither pieces nor threads change a bit.
class ScaleShift {
 public:
  ScaleShift(LayerTensors tensors, int channels, int max_rows)
      : tensors_(tensors), channels_(static_cast<std::size_t>(channels)), max_rows_(static_cast<std::size_t>(max_rows)) {}

  void prepare_training();
  void prepare_gradient() {}
  void prepare_per_example() {}
  void begin(const float* weights) {
    scale_ = weights + tensors_.scale.offset;
    shift_ = weights + tensors_.shift.offset;
  }
  bool trains() const { return !tensors_.frozen; }
  int stretches() const { return 2; }
  int gradient_pieces() const { return 1; }
  bool keeps_gradients() const { return false; }
  void gradient_piece(int, const Signal&, int rows, int, const GradientTarget& target) { report(rows, {}, target); }
  void weighted_piece(int, const Signal&, std::span<const float> factors, const GradientTarget& target) {
    report(static_cast<int>(factors.size()), factors, target);
  }

 protected:
  /// An example's gradient by scale, then by shift.
  float* example(int row) { return examples_.data() + static_cast<std::size_t>(row) * row_stride(2 * channels_); }
  /// Adds those gradients' squared norms where they count.
  void add_norms(RowRange range, double* squared_norms);
  const float* scale_ = nullptr;
  const float* shift_ = nullptr;

 private:
  /// Reports the sum of the examples' gradients times factors, or their plain sum if there are none; terms with factor 0 are
  /// left out.
  void report(int rows, std::span<const float> factors, const GradientTarget& target);

  LayerTensors tensors_;
  std::size_t channels_;
  std::size_t max_rows_;
  // training only
  Buffer<float> examples_;
  Buffer<float> total_;
};

}  // namespace fedstride
