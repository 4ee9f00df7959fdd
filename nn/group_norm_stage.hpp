#pragma once

#include <span>

#include "nn/kernels/buffer.hpp"
#include "nn/kernels/group_norm.hpp"
#include "nn/layer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// Group normalisation, an example at a time. Each example's gradient by scale and shift is kept until they are summed in
/// row order, so that neither pieces nor threads change a bit.
class GroupNormStage {
 public:
  using Layer = GroupNorm;

  explicit GroupNormStage(LayerCursor& layers);

  void prepare_training();
  void prepare_gradient() {}
  void prepare_per_example() {}
  void begin(const float* weights);
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch);
  void backward(const Signal& in, const Signal& out, RowRange range);
  void backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms);

  bool trains() const { return !tensors_.frozen; }
  int stretches() const { return 2; }
  int gradient_pieces() const { return 1; }
  void gradient_piece(int piece, const Signal& in, int rows, int row_pieces, const GradientTarget& target);
  void weighted_piece(int piece, const Signal& in, std::span<const float> factors, const GradientTarget& target);

 private:
  /// Reports the sum of the examples' gradients times factors, or their plain sum if there are none; terms with factor 0 are
  /// left out.
  void report(int rows, std::span<const float> factors, const GradientTarget& target);
  float* mean(int row) { return statistics_.data() + static_cast<std::size_t>(row) * row_stride(2 * shape_.channels); }
  float* inverse(int row) { return mean(row) + shape_.channels; }
  /// An example's gradient by scale, then by shift.
  float* example(int row) { return examples_.data() + static_cast<std::size_t>(row) * row_stride(2 * shape_.channels); }
  double* sums(int piece) { return sums_.data() + static_cast<std::size_t>(piece) * 2 * shape_.channels; }
  float* factors(int piece) { return factors_.data() + static_cast<std::size_t>(piece) * 3 * shape_.channels; }

  GroupNormShape shape_;
  LayerTensors tensors_;
  bool data_gradient_ = false;
  std::size_t max_rows_;
  const float* scale_ = nullptr;
  const float* shift_ = nullptr;
  Buffer<float> statistics_;  ///< mean and inverse deviation of every channel of every example
  Buffer<double> sums_;       ///< scratch of each piece
  Buffer<float> factors_;     ///< scratch of each piece
  // training only
  Buffer<float> examples_;
  Buffer<float> total_;
};
static_assert(RowStageWithParameters<GroupNormStage>);

}  // namespace fedstride
