#pragma once

#include "nn/kernels/buffer.hpp"
#include "nn/kernels/group_norm.hpp"
#include "nn/layer.hpp"
#include "nn/scale_shift.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// Group normalisation with the ReLU behind it, if any, an example at a time.
class GroupNormStage : public ScaleShift {
 public:
  using Layer = GroupNorm;

  /// Takes the group normalisation, and the ReLU after it.
  explicit GroupNormStage(LayerCursor& layers);

  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch);
  void backward(const Signal& in, const Signal& out, RowRange range);
  void backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms);

 private:
  float* mean(int row) { return statistics_.data() + static_cast<std::size_t>(row) * row_stride(2 * shape_.channels); }
  float* inverse(int row) { return mean(row) + shape_.channels; }
  double* sums(int piece) { return sums_.data() + static_cast<std::size_t>(piece) * 2 * shape_.channels; }
  float* factors(int piece) { return factors_.data() + static_cast<std::size_t>(piece) * 3 * shape_.channels; }

  GroupNormOutput output() const { return {scale_, shift_, relu_}; }

  GroupNormShape shape_;
  bool relu_ = false;
  bool data_gradient_ = false;
  Buffer<float> statistics_;  ///< mean and inverse deviation of every channel of every example
  Buffer<double> sums_;       ///< scratch of each piece
  Buffer<float> factors_;     ///< scratch of each piece
};
static_assert(RowStageWithParameters<GroupNormStage>);

}  // namespace fedstride
