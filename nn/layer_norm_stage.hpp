#pragma once

#include "nn/kernels/buffer.hpp"
#include "nn/layer.hpp"
#include "nn/scale_shift.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// Layer normalisation of the channels of each place, an example at a time.
class LayerNormStage : public ScaleShift {
 public:
  using Layer = LayerNorm;

  explicit LayerNormStage(LayerCursor& layers);

  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch);
  void backward(const Signal& in, const Signal& out, RowRange range);
  void backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms);

 private:
  /// An example's means, a number a place, then its inverse deviations.
  float* statistics(int row) { return statistics_.data() + static_cast<std::size_t>(row) * row_stride(2 * places_); }

  std::size_t places_;
  std::size_t channels_;
  std::size_t stride_;  ///< floats from place to place
  bool data_gradient_;
  Buffer<float> statistics_;
};
static_assert(RowStageWithParameters<LayerNormStage>);

}  // namespace fedstride
