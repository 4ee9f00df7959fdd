#include "nn/layer_norm_stage.hpp"

#include "nn/kernels/layer_norm.hpp"

namespace fedstride {

LayerNormStage::LayerNormStage(LayerCursor& layers)
    : ScaleShift(layers.tensors(), layers.input().channels, layers.max_rows()),
      places_(layers.input().size() / static_cast<std::size_t>(layers.input().channels)),
      channels_(static_cast<std::size_t>(layers.input().channels)),
      stride_(layers.positions() == 1 ? channels_ : row_stride(channels_)),
      data_gradient_(layers.data_gradient()),
      statistics_(static_cast<std::size_t>(layers.max_rows()) * row_stride(2 * places_)) {
  layers.take<LayerNorm>();
}

void LayerNormStage::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) {
  for (int row = range.first; row < range.last; ++row)
    layer_norm_forward(places_, channels_, stride_, LayerNorm::kEpsilon, in.value[row], scale_, shift_, statistics(row),
                       statistics(row) + places_, out.value[row]);
}

void LayerNormStage::backward(const Signal& in, const Signal& out, RowRange range) {
  for (int row = range.first; row < range.last; ++row)
    layer_norm_backward(places_, channels_, stride_, in.value[row], out.gradient[row], scale_, statistics(row),
                        statistics(row) + places_, example(row), example(row) + channels_,
                        data_gradient_ ? in.gradient[row] : nullptr);
}

void LayerNormStage::backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms) {
  backward(in, out, range);
  add_norms(range, squared_norms);
}

}  // namespace fedstride
