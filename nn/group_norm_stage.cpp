#include "nn/group_norm_stage.hpp"

#include <algorithm>

#include "nn/kernels/squares.hpp"

namespace fedstride {

GroupNormStage::GroupNormStage(LayerCursor& layers)
    : tensors_(layers.tensors()), data_gradient_(layers.data_gradient()), max_rows_(static_cast<std::size_t>(layers.max_rows())) {
  const Shape input = layers.input();
  shape_ = {.places = static_cast<std::size_t>(input.height) * input.width,
            .channels = static_cast<std::size_t>(input.channels),
            .groups = static_cast<std::size_t>(layers.take<GroupNorm>().groups)};
  const auto pieces = static_cast<std::size_t>(layers.max_pieces());
  statistics_ = Buffer<float>(max_rows_ * row_stride(2 * shape_.channels));
  sums_ = Buffer<double>(pieces * 2 * shape_.channels);
  factors_ = Buffer<float>(pieces * 3 * shape_.channels);
}

void GroupNormStage::prepare_training() {
  examples_ = Buffer<float>(max_rows_ * row_stride(2 * shape_.channels));
  total_ = Buffer<float>(2 * shape_.channels);
}

void GroupNormStage::begin(const float* weights) {
  scale_ = weights + tensors_.scale.offset;
  shift_ = weights + tensors_.shift.offset;
}

void GroupNormStage::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) {
  for (int row = range.first; row < range.last; ++row)
    group_norm_forward(shape_, GroupNorm::kEpsilon, in.value[row], scale_, shift_, sums(range.piece), factors(range.piece),
                       mean(row), inverse(row), out.value[row]);
}

void GroupNormStage::backward(const Signal& in, const Signal& out, RowRange range) {
  const std::size_t channels = shape_.channels;
  double* const by_shift = sums(range.piece);
  const double* const by_scale = by_shift + channels;
  const auto rounded = [](double value) { return static_cast<float>(value); };
  for (int row = range.first; row < range.last; ++row) {
    group_norm_sums(shape_, in.value[row], out.gradient[row], mean(row), inverse(row), by_shift);
    std::transform(by_scale, by_scale + channels, example(row), rounded);
    std::transform(by_shift, by_shift + channels, example(row) + channels, rounded);
    if (data_gradient_)
      group_norm_data_gradient(shape_, in.value[row], out.gradient[row], scale_, mean(row), inverse(row), by_shift,
                               factors(range.piece), in.gradient[row]);
  }
}

void GroupNormStage::backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms) {
  backward(in, out, range);
  if (!trains()) return;
  for (int row = range.first; row < range.last; ++row) squared_norms[row] += squared_norm(example(row), 2 * shape_.channels);
}

void GroupNormStage::gradient_piece(int, const Signal&, int rows, int, const GradientTarget& target) { report(rows, {}, target); }

void GroupNormStage::weighted_piece(int, const Signal&, std::span<const float> factors, const GradientTarget& target) {
  report(static_cast<int>(factors.size()), factors, target);
}

void GroupNormStage::report(int rows, std::span<const float> factors, const GradientTarget& target) {
  const std::size_t channels = shape_.channels;
  if (trains()) {
    std::fill_n(total_.data(), 2 * channels, 0.0F);
    for (int row = 0; row < rows; ++row) {
      const float factor = factors.empty() ? 1.0F : factors[static_cast<std::size_t>(row)];
      if (factor != 0) add_scaled(total_.data(), example(row), factor, 2 * channels);
    }
  }
  target.report(0, tensors_.scale.offset, total_.data(), channels);
  target.report(1, tensors_.shift.offset, total_.data() + channels, channels);
}

}  // namespace fedstride
