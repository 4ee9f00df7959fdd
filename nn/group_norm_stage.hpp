#pragma once

#include <span>

#include "nn/kernels/buffer.hpp"
#include "nn/kernels/group_norm.hpp"
#include "nn/layer.hpp"
#include "nn/scale_shift.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// Group normalisation, an example at a time.
class GroupNormStage {
 public:
  using Layer = GroupNorm;

  explicit GroupNormStage(LayerCursor& layers);

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
  float* mean(int row) { return statistics_.data() + static_cast<std::size_t>(row) * row_stride(2 * shape_.channels); }
  float* inverse(int row) { return mean(row) + shape_.channels; }
  double* sums(int piece) { return sums_.data() + static_cast<std::size_t>(piece) * 2 * shape_.channels; }
  float* factors(int piece) { return factors_.data() + static_cast<std::size_t>(piece) * 3 * shape_.channels; }

  GroupNormShape shape_;
  ScaleShift parameters_;
  bool data_gradient_ = false;
  std::size_t max_rows_;
  Buffer<float> statistics_;  ///< mean and inverse deviation of every channel of every example
  Buffer<double> sums_;       ///< scratch of each piece
  Buffer<float> factors_;     ///< scratch of each piece
};
static_assert(RowStageWithParameters<GroupNormStage>);

}  // namespace fedstride
