#include "nn/conv_stage.hpp"

#include <algorithm>

#include "core/simd.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kSmallFilters = 8192;  // floats of all a layer's filters: half of a first-level cache
// Blocks of channels whose gradients are summed and reported together: the more of them, the fewer times the inputs are
// read, but some are needed for threads to share.
constexpr std::size_t kFilterStretch = 9216;  // floats
constexpr std::size_t kMinBlocks = 4;
constexpr std::size_t kCachedInputs = 131'072;  // floats: half a second-level cache

}  // namespace

ConvStage::ConvStage(const Options& options, int max_rows, int max_pieces)
    : options_(options),
      max_rows_(static_cast<std::size_t>(max_rows)),
      max_pieces_(static_cast<std::size_t>(max_pieces)) {
  const Conv& conv = options.conv;
  shape_.input = {options.input.height + 2 * conv.padding, options.input.width + 2 * conv.padding,
                  options.input.channels};
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
  if (conv.padding > 0) bordered_ = Buffer<float>(max_rows_ * shape_.input.size());
  if (winograd_fits(shape_)) {
    winograd_.emplace(shape_);
    filters_ = Buffer<float>(winograd_->filters_size());
    scratch_ = Buffer<float>(max_pieces_ * (winograd_->scratch_size() + winograd_->group() * winograd_->output_size()));
  } else {
    rows_ = Buffer<float>(max_pieces_ * options.window.kernel * shape_.output.width * padded_channels_);
  }
}

void ConvStage::begin(const float* weights) {
  const LayerTensors& tensors = options_.tensors;
  weights_ = weights + tensors.weight.offset;
  pack_filters(weights_, options_.conv.channels, shape_.filter_size(), packed_.data());
  std::copy_n(weights + tensors.bias.offset, tensors.bias.size, bias_.data());
  if (winograd_) winograd_->transform_filters(packed_.data(), filters_.data());
}

const float* ConvStage::input_of(const Signal& in, int row) const {
  return bordered_.size() > 0 ? bordered_.data() + row * shape_.input.size() : in.value[row];
}

void ConvStage::add_border(const float* from, float* to) const {
  const std::size_t length = static_cast<std::size_t>(options_.input.width) * options_.input.channels;
  to += options_.conv.padding * shape_.pitch() +
        static_cast<std::size_t>(options_.conv.padding) * options_.input.channels;
  for (int y = 0; y < options_.input.height; ++y) std::copy_n(from + y * length, length, to + y * shape_.pitch());
}

void ConvStage::remove_border(const float* from, float* to) const {
  const std::size_t length = static_cast<std::size_t>(options_.input.width) * options_.input.channels;
  from += options_.conv.padding * shape_.pitch() +
          static_cast<std::size_t>(options_.conv.padding) * options_.input.channels;
  for (int y = 0; y < options_.input.height; ++y) std::copy_n(from + y * shape_.pitch(), length, to + y * length);
}

template <class RowOf>
void ConvStage::emit(int row, const Signal& out, bool training, RowOf&& row_of) {
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
    if (training)
      winners = winners_.data() + (row * places_ + static_cast<std::size_t>(y) * output_.width) * padded_channels_;
    max_pool_row(window_rows, window, output_.width, output_.channels, options_.relu, to, winners);
  }
}

void ConvStage::forward(const Signal& in, const Signal& out, RowRange range, bool training) {
  if (bordered_.size() > 0)
    for (int row = range.first; row < range.last; ++row)
      add_border(in.value[row], bordered_.data() + row * shape_.input.size());
  if (winograd_)
    forward_winograd(in, out, range, training);
  else
    forward_direct(in, out, range, training);
}

void ConvStage::forward_direct(const Signal& in, const Signal& out, RowRange range, bool training) {
  const int kept = options_.window.kernel;
  const std::size_t row_size = shape_.output.width * padded_channels_;
  float* ring = rows_.data() + range.piece * kept * row_size;
  for (int row = range.first; row < range.last; ++row) {
    const float* input = input_of(in, row);
    int ready = 0;  // output rows computed so far, the last few of them still there
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
  float* scratch = scratch_.data() + range.piece * (winograd_->scratch_size() + winograd_->group() * size);
  float* outputs = scratch + winograd_->scratch_size();
  const float* inputs[Winograd::kMaxGroup];
  for (int first = range.first; first < range.last; first += winograd_->group()) {
    const int pictures = std::min(winograd_->group(), range.last - first);
    for (int i = 0; i < pictures; ++i) inputs[i] = input_of(in, first + i);
    winograd_->forward(inputs, pictures, filters_.data(), bias_.data(), scratch, outputs);
    for (int i = 0; i < pictures; ++i)
      emit(first + i, out, training, [&](int y) { return outputs + i * size + y * winograd_->output_pitch(); });
  }
}

void ConvStage::prepare_training() {
  const auto channels = static_cast<std::size_t>(options_.conv.channels);
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  if (options_.pooled) winners_ = Buffer<std::uint8_t>(max_rows_ * places_ * padded_channels_);
  const Window window = options_.pooled ? options_.window : Window{};
  bases_ = Buffer<std::uint32_t>(places_);
  for (std::size_t place = 0; place < places_; ++place) {
    const int y = static_cast<int>(place) / output_.width, x = static_cast<int>(place) % output_.width;
    bases_[place] = static_cast<std::uint32_t>(shape_.source(y * window.stride, x * window.stride));
  }
  shifts_ = Buffer<std::uint32_t>(kMaxPlaces);
  for (int place = 0; place < window.kernel * window.kernel; ++place)
    shifts_[static_cast<std::size_t>(place)] =
        static_cast<std::uint32_t>(shape_.source(place / window.kernel, place % window.kernel));
  capacity_ = spot_capacity(places_);
  sums_by_rows_ = channels * filter <= kSmallFilters;
  const std::size_t lists = (sums_by_rows_ ? max_pieces_ : max_rows_) * channels;
  spot_sources_ = Buffer<std::uint32_t>(lists * capacity_);
  spot_gradients_ = Buffer<float>(lists * capacity_);
  spot_counts_ = Buffer<int>(lists);
  if (sums_by_rows_) {
    partial_size_ = row_stride(channels * (filter + 1));
    partial_ = Buffer<float>(max_pieces_ * partial_size_);
  }
  if (options_.data_gradient && bordered_.size() > 0)
    bordered_gradient_ = Buffer<float>(max_pieces_ * shape_.input.size());
  lists_ = Buffer<SpotList>(channel_blocks_ * max_rows_);
  inputs_ = Buffer<const float*>(channel_blocks_ * max_rows_);
  filter_gradient_ = Buffer<float>(channel_blocks_ * channels_per_block_ * (filter + 1));
}

void ConvStage::find_spots(int row, int piece, const Signal& out) {
  const std::size_t first = spot_list(row, piece);
  const SpotStore store{spot_sources_.data() + first * capacity_, spot_gradients_.data() + first * capacity_,
                        spot_counts_.data() + first, capacity_};
  const int window_places = options_.pooled ? options_.window.kernel * options_.window.kernel : 1;
  list_spots(out.gradient[row], options_.relu ? out.value[row] : nullptr, bases_.data(),
             options_.pooled ? winners_.data() + row * places_ * padded_channels_ : nullptr, shifts_.data(),
             window_places, places_, output_.width, options_.conv.channels, store);
}

SpotList ConvStage::spots(std::size_t list) const {
  return {spot_sources_.data() + list * capacity_, spot_gradients_.data() + list * capacity_, spot_counts_[list]};
}

void ConvStage::backward(const Signal& in, const Signal& out, RowRange range) {
  const int channels = options_.conv.channels;
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  float* partial = sums_by_rows_ ? partial_.data() + range.piece * partial_size_ : nullptr;
  if (sums_by_rows_) std::fill_n(partial, partial_size_, 0.0F);
  for (int row = range.first; row < range.last; ++row) {
    find_spots(row, range.piece, out);
    const std::size_t list = spot_list(row, range.piece);
    if (options_.data_gradient) {
      float* to = in.gradient[row];
      if (bordered_.size() > 0) to = bordered_gradient_.data() + range.piece * shape_.input.size();
      std::fill_n(to, shape_.input.size(), 0.0F);
      for (int c = 0; c < channels; ++c) conv_data_gradient(shape_, spots(list + c), weights_ + c * filter, to);
      if (bordered_.size() > 0) remove_border(to, in.gradient[row]);
    }
    if (sums_by_rows_ && !options_.tensors.frozen) {
      const float* input = input_of(in, row);
      for (int c = 0; c < channels; ++c) {
        const SpotList here = spots(list + c);
        partial[channels * filter + c] += conv_filter_gradient(shape_, &input, &here, 1, partial + c * filter);
      }
    }
  }
}

void ConvStage::gradient_piece(int piece, const Signal& in, int rows, int row_pieces, const GradientTarget& target) {
  const LayerTensors& tensors = options_.tensors;
  const int first = piece * channels_per_block_;
  const int last = std::min(first + channels_per_block_, options_.conv.channels);
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  const std::size_t size = (last - first) * filter;
  float* gradient = filter_gradient_.data() + piece * channels_per_block_ * (filter + 1);
  float* bias_gradient = gradient + channels_per_block_ * filter;
  if (!tensors.frozen) {
    std::fill_n(gradient, size, 0.0F);
    if (sums_by_rows_)
      sum_rows(first, last, row_pieces, gradient, bias_gradient);
    else
      sum_spots(piece, in, rows, gradient, bias_gradient);
  }
  target.report(piece, tensors.weight.offset + first * filter, gradient, size);
  if (tensors.bias.size > 0)
    target.report(channel_blocks_ + piece, tensors.bias.offset + first, bias_gradient,
                  static_cast<std::size_t>(last - first));
}

void ConvStage::sum_rows(int first, int last, int row_pieces, float* gradient, float* bias_gradient) const {
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  const auto count = static_cast<std::size_t>(last - first);
  std::fill_n(bias_gradient, count, 0.0F);
  for (int p = 0; p < row_pieces; ++p) {
    const float* weights = partial_.data() + p * partial_size_ + first * filter;
    const float* biases = partial_.data() + p * partial_size_ + options_.conv.channels * filter + first;
    for (std::size_t i = 0; i < count * filter; ++i) gradient[i] += weights[i];
    for (std::size_t i = 0; i < count; ++i) bias_gradient[i] += biases[i];
  }
}

void ConvStage::sum_spots(int piece, const Signal& in, int rows, float* gradient, float* bias_gradient) {
  const int first = piece * channels_per_block_;
  const int last = std::min(first + channels_per_block_, options_.conv.channels);
  SpotList* lists = lists_.data() + piece * max_rows_;
  const float** inputs = inputs_.data() + piece * max_rows_;
  for (int row = 0; row < rows; ++row) inputs[row] = input_of(in, row);
  std::fill_n(bias_gradient, last - first, 0.0F);
  // As many pictures at a time as stay in the second-level cache while channel after channel reads them.
  const int group = static_cast<int>(std::clamp<std::size_t>(kCachedInputs / shape_.input.size(), 1, max_rows_));
  for (int row = 0; row < rows; row += group) {
    const int pictures = std::min(group, rows - row);
    for (int c = first; c < last; ++c) {
      for (int i = 0; i < pictures; ++i) lists[i] = spots(spot_list(row + i, 0) + c);
      bias_gradient[c - first] += conv_filter_gradient(
          shape_, inputs + row, lists, pictures, gradient + static_cast<std::size_t>(c - first) * shape_.filter_size());
    }
  }
}

}  // namespace fedstride
