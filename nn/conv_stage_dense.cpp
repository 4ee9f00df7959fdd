#include <algorithm>

#include "nn/conv_stage.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/kernels/squares.hpp"

namespace fedstride {

// If few output gradients are zero, the backward pass uses the forward pass's kernels instead of lists of spots.

void ConvStage::dense_data_gradient(RowRange range, const Signal& in, const Signal& out) {
  if (!options_.data_gradient) return;
  if (data_) return data_->run(out.gradient, in.gradient, range.first, range.last);
  for (int row = range.first; row < range.last; ++row) backward_row(row, range.piece, true, in, out);
}

void ConvStage::dense_examples(RowRange range, const Signal& in, const Signal& out, float* gradient) {
  const int channels = options_.conv.channels;
  float* const bias_gradient = gradient + channels * static_cast<std::size_t>(shape_.filter_size());
  std::fill(gradient, bias_gradient + channels, 0.0F);
  for (int row = range.first; row < range.last; ++row) sum_places(out.gradient[row], places_, channels, channels, bias_gradient);
  if (by_winograd()) return winograd_examples(range, in, out, gradient);
  for (int row = range.first; row < range.last; ++row)
    conv_dense_filter_gradient(shape_, input_of(in, row), out.gradient[row], channels, channels, gradient);
}

void ConvStage::winograd_examples(RowRange range, const Signal& in, const Signal& out, float* gradient) {
  const std::size_t size = row_stride(winograd_->gradient_size()), scratch_size = winograd_->gradient_scratch_size();
  float* const sums = thread_scratch<Scratch::call>(size + scratch_size + (adds_borders_on_read() ? shape_.input.size() : 0));
  float* const bordered = sums + size + scratch_size;
  std::fill_n(sums, size, 0.0F);
  for (int row = range.first; row < range.last; ++row) {
    if (adds_borders_on_read()) add_border(in.value[row], bordered);
    winograd_->add_gradient(adds_borders_on_read() ? bordered : input_of(in, row), out.gradient[row], sums + size, sums);
  }
  winograd_->finish_gradient(sums, gradient);
}

void ConvStage::backward_dense(const Signal& in, const Signal& out, RowRange range) {
  if (range.first == 0) dense_gradients_ = out.gradient;  // one piece sets it for all
  dense_data_gradient(range, in, out);
  if (!sums_by_rows_ || options_.tensors.frozen) return;
  dense_examples(range, in, out, partial_.data() + range.piece * partial_size_);
}

void ConvStage::backward_dense_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms) {
  if (range.first == 0) dense_gradients_ = out.gradient;
  dense_data_gradient(range, in, out);
  if (options_.tensors.frozen) return;
  const auto filters = static_cast<std::size_t>(shape_.filter_size()) * options_.conv.channels;
  for (int row = range.first; row < range.last; ++row) {
    float* example = examples_.data() + static_cast<std::size_t>(keeps_examples_ ? row : range.piece) * example_size_;
    dense_examples({row, row + 1, range.piece}, in, out, example);
    squared_norms[row] += squared_norm(example, filters);
    if (options_.tensors.bias.size > 0) squared_norms[row] += squared_norm(example + filters, options_.tensors.bias.size);
  }
}

void ConvStage::sum_dense(int first, int last, const Signal& in, int rows, float* gradient, float* bias_gradient) {
  const int channels = options_.conv.channels, here = last - first;
  for (int row = 0; row < rows; ++row) {
    const float* dy = dense_gradients_[row] + first;
    conv_dense_filter_gradient(shape_, input_of(in, row), dy, channels, here, gradient);
    sum_places(dy, places_, channels, here, bias_gradient);
  }
}

void ConvStage::weigh_dense(const Signal& in, std::span<const float> factors, const SumTarget& target) {
  const auto channels = static_cast<std::size_t>(options_.conv.channels);
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  double* const sums = thread_scratch<Scratch::call, double>(channels * (filter + 1));
  std::fill_n(sums, channels * (filter + 1), 0.0);
  for (int row = 0; row < static_cast<int>(factors.size()); ++row) {
    const float factor = factors[static_cast<std::size_t>(row)];
    if (factor == 0) continue;
    dense_examples({row, row + 1, 0}, in, {{}, dense_gradients_}, examples_.data());  // no other piece uses it now
    add_scaled(sums, examples_.data(), factor, channels * (filter + 1));
  }
  for (int block = 0; block < channel_blocks_; ++block) {
    const auto first = static_cast<std::size_t>(block * channels_per_block_);
    const std::size_t here = std::min<std::size_t>(static_cast<std::size_t>(channels_per_block_), channels - first);
    target.report(block, options_.tensors.weight.offset + first * filter, sums + first * filter, here * filter);
    if (options_.tensors.bias.size > 0)
      target.report(channel_blocks_ + block, options_.tensors.bias.offset + first, sums + channels * filter + first, here);
  }
}

}  // namespace fedstride
