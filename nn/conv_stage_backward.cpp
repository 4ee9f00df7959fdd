#include <algorithm>
#include <cmath>

#include "nn/conv_stage.hpp"
#include "nn/kernels/squares.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kSmallFilters = 8192;     // floats in all filters of a layer: half a first-level cache
constexpr std::size_t kCachedInputs = 131'072;  // floats: half a second-level cache

template <class T>
void make_room(Buffer<T>& buffer, std::size_t size) {
  if (buffer.size() < size) buffer = Buffer<T>(size);
}

}  // namespace

void ConvStage::prepare_training() {
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  filter_gradient_ = Buffer<float>(channel_blocks_ * channels_per_block_ * (filter + 1));
  if (!needs_backward()) return;
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
  const std::size_t filters = options_.conv.channels * filter;
  sums_by_rows_ = filters <= kSmallFilters || by_winograd();
  keeps_examples_ = keeps_examples();
  if (dense() && options_.data_gradient && shape_.stride == 1) data_.emplace(shape_, options_.conv.padding);
  if (options_.data_gradient && bordered_.size() > 0 && !data_)
    bordered_gradient_ = Buffer<float>(max_pieces_ * shape_.input.size());
  lists_ = Buffer<SpotList>(channel_blocks_ * max_rows_);
  inputs_ = Buffer<const float*>(channel_blocks_ * max_rows_);
}

void ConvStage::prepare_spots(bool by_piece) {
  if (dense() && (data_ || !options_.data_gradient)) return;
  const std::size_t lists = (by_piece ? max_pieces_ : max_rows_) * options_.conv.channels;
  make_room(spot_sources_, lists * capacity_);
  make_room(spot_gradients_, lists * capacity_);
  make_room(spot_counts_, lists);
}

void ConvStage::prepare_gradient() {
  if (!needs_backward()) return;
  prepare_spots(sums_by_rows_ || dense());
  if (!sums_by_rows_ || partial_.size() > 0) return;
  partial_size_ = row_stride(static_cast<std::size_t>(options_.conv.channels) * (shape_.filter_size() + 1));
  partial_ = Buffer<float>(max_pieces_ * partial_size_);
}

void ConvStage::prepare_per_example() {
  if (!needs_backward()) return;
  prepare_spots(keeps_examples_ || dense());
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  example_size_ = row_stride(options_.conv.channels * (filter + 1));
  if (keeps_examples_)
    make_room(examples_, max_rows_ * example_size_);
  else
    make_room(examples_, max_pieces_ * (dense() ? example_size_ : row_stride(filter)));
}

int ConvStage::group() const {
  return static_cast<int>(std::clamp<std::size_t>(kCachedInputs / shape_.input.size(), 1, max_rows_));
}

void ConvStage::find_spots(std::size_t first, int row, const Signal& out) {
  const SpotStore store{spot_sources_.data() + first * capacity_, spot_gradients_.data() + first * capacity_,
                        spot_counts_.data() + first, capacity_};
  const int window_places = options_.pooled ? options_.window.kernel * options_.window.kernel : 1;
  list_spots(out.gradient[row], options_.relu ? out.value[row] : nullptr, bases_.data(),
             options_.pooled ? winners_.data() + row * places_ * padded_channels_ : nullptr, shifts_.data(), window_places,
             places_, output_.width, options_.conv.channels, store);
}

SpotList ConvStage::spots(std::size_t list) const {
  return {spot_sources_.data() + list * capacity_, spot_gradients_.data() + list * capacity_, spot_counts_[list]};
}

std::size_t ConvStage::backward_row(int row, int piece, bool by_piece, const Signal& in, const Signal& out) {
  const int channels = options_.conv.channels;
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  const std::size_t list = spot_list(by_piece ? piece : row);
  find_spots(list, row, out);
  if (options_.data_gradient) {
    float* to = in.gradient[row];
    if (bordered_.size() > 0) to = bordered_gradient_.data() + piece * shape_.input.size();
    std::fill_n(to, shape_.input.size(), 0.0F);
    for (int c = 0; c < channels; ++c) conv_data_gradient(shape_, spots(list + c), weights_ + c * filter, to);
    if (bordered_.size() > 0) remove_border(to, in.gradient[row]);
  }
  return list;
}

void ConvStage::backward(const Signal& in, const Signal& out, RowRange range) {
  const int channels = options_.conv.channels;
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  float* partial = sums_by_rows_ ? partial_.data() + range.piece * partial_size_ : nullptr;
  if (sums_by_rows_) std::fill_n(partial, partial_size_, 0.0F);
  if (dense()) return backward_dense(in, out, range);
  for (int row = range.first; row < range.last; ++row) {
    const std::size_t list = backward_row(row, range.piece, sums_by_rows_, in, out);
    if (!sums_by_rows_ || options_.tensors.frozen) continue;
    const float* input = input_of(in, row);
    for (int c = 0; c < channels; ++c) {
      const SpotList here = spots(list + c);
      partial[channels * filter + c] += conv_filter_gradient(shape_, &input, &here, 1, partial + c * filter);
    }
  }
}

void ConvStage::backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms) {
  if (dense()) return backward_dense_norms(in, out, range, squared_norms);
  const int channels = options_.conv.channels;
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  for (int row = range.first; row < range.last; ++row) {
    const std::size_t list = backward_row(row, range.piece, keeps_examples_, in, out);
    if (options_.tensors.frozen) continue;
    const float* input = input_of(in, row);
    float* example = examples_.data() + (keeps_examples_ ? row * example_size_ : range.piece * row_stride(filter));
    if (keeps_examples_) std::fill_n(example, channels * (filter + 1), 0.0F);
    double norm = 0;
    for (int c = 0; c < channels; ++c) {
      const SpotList here = spots(list + c);
      float* gradient = keeps_examples_ ? example + c * filter : example;
      if (!keeps_examples_) std::fill_n(gradient, filter, 0.0F);
      const float bias = conv_filter_gradient(shape_, &input, &here, 1, gradient);
      norm += squared_norm(gradient, filter);
      if (options_.tensors.bias.size > 0) norm += static_cast<double>(bias) * static_cast<double>(bias);
      if (keeps_examples_) example[channels * filter + c] = bias;
    }
    squared_norms[row] += norm;
  }
}

template <class T, class Sum>
void ConvStage::report_piece(int piece, const TargetOf<T>& target, T* memory, Sum&& sum) {
  const LayerTensors& tensors = options_.tensors;
  const int first = piece * channels_per_block_;
  const int last = std::min(first + channels_per_block_, options_.conv.channels);
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  const std::size_t size = (last - first) * filter;
  T* bias_gradient = memory + channels_per_block_ * filter;
  std::fill_n(memory, size, T{});
  std::fill_n(bias_gradient, last - first, T{});
  if (!tensors.frozen) sum(first, last, memory, bias_gradient);
  target.report(piece, tensors.weight.offset + first * filter, memory, size);
  if (tensors.bias.size > 0)
    target.report(channel_blocks_ + piece, tensors.bias.offset + first, bias_gradient, static_cast<std::size_t>(last - first));
}

void ConvStage::gradient_piece(int piece, const Signal& in, int rows, int row_pieces, const GradientTarget& target) {
  const std::size_t size = channels_per_block_ * (static_cast<std::size_t>(shape_.filter_size()) + 1);
  report_piece(
      piece, target, filter_gradient_.data() + piece * size, [&](int first, int last, float* gradient, float* bias_gradient) {
        if (sums_by_rows_)
          sum_vectors(
              first, last, partial_.data(), partial_size_, row_pieces, [](int) { return 1.0F; }, gradient, bias_gradient);
        else if (dense())
          sum_dense(first, last, in, rows, gradient, bias_gradient);
        else
          sum_spots(piece, first, last, in, rows, gradient, bias_gradient);
      });
}

void ConvStage::weighted_piece(int piece, const Signal& in, std::span<const float> factors, const SumTarget& target) {
  if (dense() && !keeps_examples_ && trains()) {
    if (piece == 0) weigh_dense(in, factors, target);
    return;
  }
  const std::size_t size = channels_per_block_ * (static_cast<std::size_t>(shape_.filter_size()) + 1);
  report_piece(piece, target, thread_scratch<Scratch::call, double>(size),
               [&](int first, int last, double* gradient, double* bias_gradient) {
                 if (!keeps_examples_) return weigh_spots(first, last, in, factors, gradient, bias_gradient);
                 const auto factor_of = [&](int row) { return factors[static_cast<std::size_t>(row)]; };
                 sum_vectors(first, last, examples_.data(), example_size_, static_cast<int>(factors.size()), factor_of, gradient,
                             bias_gradient);
               });
}

template <class T, class FactorOf>
void ConvStage::sum_vectors(int first, int last, const float* vectors, std::size_t distance, int count, FactorOf&& factor_of,
                            T* gradient, T* bias_gradient) const {
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  const auto channels = static_cast<std::size_t>(last - first);
  for (int v = 0; v < count; ++v, vectors += distance) {
    const float factor = factor_of(v);
    if (factor == 0) continue;
    const float* biases = vectors + options_.conv.channels * filter + first;
    add_scaled(gradient, vectors + first * filter, factor, channels * filter);
    add_scaled(bias_gradient, biases, factor, channels);
  }
}

void ConvStage::sum_spots(int piece, int first, int last, const Signal& in, int rows, float* gradient, float* bias_gradient) {
  SpotList* lists = lists_.data() + piece * max_rows_;
  const float** inputs = inputs_.data() + piece * max_rows_;
  // Each channel in turn reads as many images as fit in half of the second-level cache, before the next images are read.
  for (int row = 0; row < rows; row += group()) {
    const int end = std::min(row + group(), rows);
    for (int c = first; c < last; ++c) {
      int pictures = 0;
      for (int r = row; r < end; ++r) {
        lists[pictures] = spots(spot_list(r) + c);
        inputs[pictures++] = input_of(in, r);
      }
      bias_gradient[c - first] += conv_filter_gradient(shape_, inputs, lists, pictures,
                                                       gradient + static_cast<std::size_t>(c - first) * shape_.filter_size());
    }
  }
}

void ConvStage::weigh_spots(int first, int last, const Signal& in, std::span<const float> factors, double* gradient,
                            double* bias_gradient) {
  const int rows = static_cast<int>(factors.size());
  const auto filter = static_cast<std::size_t>(shape_.filter_size());
  float* const own = thread_scratch<Scratch::call>(filter);
  for (int row = 0; row < rows; row += group())
    for (int c = first; c < last; ++c)
      for (int r = row; r < std::min(row + group(), rows); ++r) {
        const float factor = factors[static_cast<std::size_t>(r)];
        const SpotList here = spots(spot_list(r) + c);
        if (factor == 0 || here.count == 0) continue;
        const float* input = input_of(in, r);
        std::fill_n(own, filter, 0.0F);
        bias_gradient[c - first] += static_cast<double>(factor) * conv_filter_gradient(shape_, &input, &here, 1, own);
        add_scaled(gradient + static_cast<std::size_t>(c - first) * filter, own, factor, filter);
      }
}

}  // namespace fedstride
