#pragma once

#include <span>

#include "nn/kernels/buffer.hpp"
#include "nn/layer.hpp"
#include "nn/scale_shift.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// Layer normalisation of the channels of each place, an example at a time.
class LayerNormStage {
 public:
  using Layer = LayerNorm;

  explicit LayerNormStage(LayerCursor& layers);

  void prepare_training() { parameters_.prepare_training(); }
  void prepare_gradient() {}
  void prepare_per_example() {}
  void begin(const float* weights) { parameters_.begin(weights); }
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch);
  void backward(const Signal& in, const Signal& out, RowRange range);
  void backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms);

  bool trains() const { return parameters_.trains(); }
  int stretches() const { return ScaleShift::kStretches; }
  int gradient_pieces() const { return 1; }
  void gradient_piece(int, const Signal&, int rows, int, const GradientTarget& target) { parameters_.report(rows, {}, target); }
  void weighted_piece(int, const Signal&, std::span<const float> factors, const GradientTarget& target) {
    parameters_.report(static_cast<int>(factors.size()), factors, target);
  }

 private:
  /// An example's means, a number a place, then its inverse deviations.
  float* statistics(int row) { return statistics_.data() + static_cast<std::size_t>(row) * row_stride(2 * places_); }

  std::size_t places_;
  std::size_t channels_;
  std::size_t stride_;  ///< floats from place to place
  ScaleShift parameters_;
  bool data_gradient_;
  Buffer<float> statistics_;
};
static_assert(RowStageWithParameters<LayerNormStage>);

}  // namespace fedstride
