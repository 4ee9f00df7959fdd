#include "nn/conv_stage.hpp"

#include <algorithm>

#include "core/simd.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/stage_plan.hpp"

namespace fedstride {
namespace {

// Gradients of a block of channels are summed and reported together: larger blocks read the inputs fewer times, but threads need
// several blocks to share.
constexpr std::size_t kFilterStretch = 9216;  // floats
constexpr std::size_t kMinBlocks = 4;

}  // namespace

ConvStage::Options ConvStage::options_of(LayerCursor& layers) {
  Options options{
      .conv = {}, .input = layers.input(), .window = {}, .tensors = layers.tensors(), .data_gradient = layers.data_gradient()};
  options.conv = layers.take<Conv>();
  options.relu = layers.take_if<Relu>();
  const auto* pool = layers.peek<MaxPool>();
  if (pool != nullptr && pool->padding == 0 && pool->kernel * pool->kernel <= kMaxPlaces) {
    options.window = {pool->kernel, pool->stride};
    options.pooled = true;
    layers.take<MaxPool>();
    if (!options.relu) options.relu = layers.take_if<Relu>();
  }
  return options;
}

ConvStage::ConvStage(LayerCursor& layers)
    : options_(options_of(layers)),
      max_rows_(static_cast<std::size_t>(layers.max_rows())),
      max_pieces_(static_cast<std::size_t>(layers.max_pieces())) {
  const Options& options = options_;
  const Conv& conv = options.conv;
  shape_.input = {options.input.height + 2 * conv.padding, options.input.width + 2 * conv.padding, options.input.channels};
  shape_.kernel = conv.kernel;
  shape_.stride = conv.stride;
  const auto positions = [](int extent, int kernel, int stride) { return (extent - kernel) / stride + 1; };
  shape_.output = {positions(shape_.input.height, conv.kernel, conv.stride),
                   positions(shape_.input.width, conv.kernel, conv.stride), conv.channels};
  output_ = shape_.output;
  if (options.pooled) {
    output_.height = positions(output_.height, options.window.kernel, options.window.stride);
    output_.width = positions(output_.width, options.window.kernel, options.window.stride);
  }
  padded_channels_ = whole_lanes(conv.channels);
  places_ = static_cast<std::size_t>(output_.height) * output_.width;
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  channels_per_block_ = static_cast<int>(std::clamp<std::size_t>(
      kFilterStretch / filter, 1, (static_cast<std::size_t>(conv.channels) + kMinBlocks - 1) / kMinBlocks));
  channel_blocks_ = (conv.channels + channels_per_block_ - 1) / channels_per_block_;
  packed_ = Buffer<float>(filter * padded_channels_);
  bias_ = Buffer<float>(padded_channels_);
  if (winograd_fits(shape_)) {
    winograd_.emplace(shape_);
    filters_ = Buffer<float>(winograd_->filters_size());
  }
  if (conv.padding > 0 && !adds_borders_on_read()) bordered_ = Buffer<float>(max_rows_ * shape_.input.size());
}

void ConvStage::begin(const float* weights) {
  const LayerTensors& tensors = options_.tensors;
  weights_ = weights + tensors.weight.offset;
  pack_filters(weights_, options_.conv.channels, shape_.filter_size(), packed_.data());
  std::copy_n(weights + tensors.bias.offset, tensors.bias.size, bias_.data());
  if (winograd_) winograd_->transform_filters(packed_.data(), filters_.data());
  if (data_) data_->begin(weights_);
}

const float* ConvStage::input_of(const Signal& in, int row) const {
  return bordered_.size() > 0 ? bordered_.data() + row * shape_.input.size() : in.value[row];
}

void ConvStage::remove_border(const float* from, float* to) const {
  const std::size_t length = static_cast<std::size_t>(options_.input.width) * options_.input.channels;
  from += options_.conv.padding * shape_.pitch() + static_cast<std::size_t>(options_.conv.padding) * options_.input.channels;
  for (int y = 0; y < options_.input.height; ++y) std::copy_n(from + y * shape_.pitch(), length, to + y * length);
}

void ConvStage::emit(int row, const Signal& out, bool training, auto&& row_of) {
  const Window window = options_.window;
  const float* window_rows[16];
  for (int y = 0; y < output_.height; ++y) {
    float* to = out.value[row] + static_cast<std::size_t>(y) * output_.width * output_.channels;
    if (!options_.pooled) {
      unpad_row(row_of(y), output_.width, output_.channels, options_.relu, to);
      continue;
    }
    for (int j = 0; j < window.kernel; ++j) window_rows[j] = row_of(y * window.stride + j);
    std::uint8_t* winners = nullptr;
    if (training) winners = winners_.data() + (row * places_ + static_cast<std::size_t>(y) * output_.width) * padded_channels_;
    max_pool_row(window_rows, window, output_.width, output_.channels, options_.relu, to, winners);
  }
}

void ConvStage::forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) {
  if (bordered_.size() > 0)
    for (int row = range.first; row < range.last; ++row) add_border(in.value[row], bordered_.data() + row * shape_.input.size());
  const bool training = batch != nullptr && needs_backward();
  if (winograd_)
    forward_winograd(in, out, range, training);
  else
    forward_direct(in, out, range, training);
}

void ConvStage::forward_direct(const Signal& in, const Signal& out, RowRange range, bool training) {
  const int kept = options_.window.kernel;
  const std::size_t row_size = shape_.output.width * padded_channels_;
  float* ring = thread_scratch<Scratch::call>(kept * row_size);
  for (int row = range.first; row < range.last; ++row) {
    const float* input = input_of(in, row);
    int ready = 0;  // output rows computed so far; only the last few are kept
    emit(row, out, training, [&](int y) {
      float* to = ring + y % kept * row_size;
      if (y >= ready) {
        conv_row(shape_, input, packed_.data(), bias_.data(), y, to);
        ready = y + 1;
      }
      return to;
    });
  }
}

void ConvStage::forward_winograd(const Signal& in, const Signal& out, RowRange range, bool training) {
  const std::size_t size = winograd_->output_size();
  const std::size_t bordered_size = adds_borders_on_read() ? row_stride(shape_.input.size()) : 0;
  const auto group = static_cast<std::size_t>(winograd_->group());
  float* scratch = thread_scratch<Scratch::call>(winograd_->scratch_size() + group * (size + bordered_size));
  float* bordered = scratch + winograd_->scratch_size() + group * size;
  const bool is_direct = dense() && winograd_->is_gapless();
  const float* inputs[Winograd::kMaxGroup];
  float* outputs[Winograd::kMaxGroup];
  for (int first = range.first; first < range.last; first += winograd_->group()) {
    const int pictures = std::min(winograd_->group(), range.last - first);
    for (int i = 0; i < pictures; ++i) {
      inputs[i] = input_of(in, first + i);
      outputs[i] = is_direct ? out.value[first + i] : scratch + winograd_->scratch_size() + i * size;
      if (bordered_size == 0) continue;
      add_border(in.value[first + i], bordered + i * bordered_size);
      inputs[i] = bordered + i * bordered_size;
    }
    winograd_->forward(inputs, pictures, filters_.data(), bias_.data(), scratch, outputs);
    for (int i = 0; i < pictures && !is_direct; ++i)
      emit(first + i, out, training, [&](int y) { return outputs[i] + y * winograd_->output_pitch(); });
  }
}

ParameterStagePointer make_stage(const Conv&, LayerCursor& layers) { return std::make_unique<ConvStage>(layers); }

}  // namespace fedstride
