#include "nn/group_norm_stage.hpp"

#include <algorithm>

namespace fedstride {

GroupNormStage::GroupNormStage(LayerCursor& layers)
    : ScaleShift(layers.tensors(), layers.input().channels, layers.max_rows()), data_gradient_(layers.data_gradient()) {
  const Shape input = layers.input();
  shape_ = {.places = static_cast<std::size_t>(input.height) * input.width,
            .channels = static_cast<std::size_t>(input.channels),
            .groups = static_cast<std::size_t>(layers.take<GroupNorm>().groups)};
  relu_ = layers.take_if<Relu>();
  const auto pieces = static_cast<std::size_t>(layers.max_pieces());
  statistics_ = Buffer<float>(static_cast<std::size_t>(layers.max_rows()) * row_stride(2 * shape_.channels));
  sums_ = Buffer<double>(pieces * 2 * shape_.channels);
  factors_ = Buffer<float>(pieces * 3 * shape_.channels);
}

void GroupNormStage::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) {
  for (int row = range.first; row < range.last; ++row)
    group_norm_forward(shape_, GroupNorm::kEpsilon, output(), in.value[row], sums(range.piece), factors(range.piece), mean(row),
                       inverse(row), out.value[row]);
}

void GroupNormStage::backward(const Signal& in, const Signal& out, RowRange range) {
  const std::size_t channels = shape_.channels;
  double* const by_shift = sums(range.piece);
  const double* const by_scale = by_shift + channels;
  const auto rounded = [](double value) { return static_cast<float>(value); };
  for (int row = range.first; row < range.last; ++row) {
    group_norm_sums(shape_, output(), in.value[row], out.gradient[row], mean(row), inverse(row), factors(range.piece), by_shift);
    std::transform(by_scale, by_scale + channels, example(row), rounded);
    std::transform(by_shift, by_shift + channels, example(row) + channels, rounded);
    if (data_gradient_)
      group_norm_data_gradient(shape_, output(), in.value[row], out.gradient[row], mean(row), inverse(row), by_shift,
                               factors(range.piece), in.gradient[row]);
  }
}

void GroupNormStage::backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms) {
  backward(in, out, range);
  add_norms(range, squared_norms);
}

}  // namespace fedstride
