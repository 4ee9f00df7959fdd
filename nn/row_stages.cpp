#include "nn/row_stages.hpp"

#include <algorithm>

#include "core/simd.hpp"
#include "nn/dropout.hpp"
#include "nn/kernels/squares.hpp"

namespace fedstride {

template <class Kind>
PoolStage<Kind>::PoolStage(LayerCursor& layers) : input_(layers.input()), max_rows_(static_cast<std::size_t>(layers.max_rows())) {
  const Kind& pool = layers.take<Kind>();
  window_ = {pool.kernel, pool.stride};
  padding_ = pool.padding;
  output_ = layers.output();
}

template <>
void PoolStage<MaxPool>::prepare_training() {
  winners_ = Buffer<std::uint32_t>(max_rows_ * output_.size());
}

template <>
void PoolStage<AvgPool>::prepare_training() {}

namespace {

/// Places of a picture: rows from top to below bottom, columns from left to before right.
struct Places {
  int top, bottom, left, right;
};

/// Calls body(output index, the window's places that lie in the picture, channel) for every output of a picture.
template <class Body>
void for_each_window(Shape input, Shape output, Window window, int padding, Body&& body) {
  std::size_t index = 0;
  for (int y = 0; y < output.height; ++y)
    for (int x = 0; x < output.width; ++x) {
      const int top = y * window.stride - padding, left = x * window.stride - padding;
      const Places places{std::max(top, 0), std::min(top + window.kernel, input.height), std::max(left, 0),
                          std::min(left + window.kernel, input.width)};
      for (int c = 0; c < output.channels; ++c, ++index) body(index, places, c);
    }
}

/// Calls body(input index) for every one of those places.
template <class Body>
void for_each_place(Shape input, const Places& places, int channel, Body&& body) {
  for (int y = places.top; y < places.bottom; ++y)
    for (int x = places.left; x < places.right; ++x)
      body((static_cast<std::size_t>(y) * input.width + static_cast<std::size_t>(x)) * input.channels + channel);
}

}  // namespace

template <>
void PoolStage<MaxPool>::forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) {
  for (int row = range.first; row < range.last; ++row) {
    const float* from = in.value[row];
    for_each_window(input_, output_, window_, padding_, [&](std::size_t index, const Places& places, int c) {
      std::size_t winner =
          (static_cast<std::size_t>(places.top) * input_.width + static_cast<std::size_t>(places.left)) * input_.channels + c;
      for_each_place(input_, places, c, [&](std::size_t i) { winner = from[i] > from[winner] ? i : winner; });
      out.value[row][index] = from[winner];
      if (batch != nullptr) winners_[row * output_.size() + index] = static_cast<std::uint32_t>(winner);
    });
  }
}

template <>
void PoolStage<MaxPool>::backward(const Signal& in, const Signal& out, RowRange range) const {
  for (int row = range.first; row < range.last; ++row) {
    std::fill_n(in.gradient[row], input_.size(), 0.0F);
    for (std::size_t i = 0; i < output_.size(); ++i) in.gradient[row][winners_[row * output_.size() + i]] += out.gradient[row][i];
  }
}

template <>
void PoolStage<AvgPool>::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) {
  const float share = 1.0F / static_cast<float>(window_.kernel * window_.kernel);
  for (int row = range.first; row < range.last; ++row) {
    const float* from = in.value[row];
    for_each_window(input_, output_, window_, padding_, [&](std::size_t index, const Places& places, int c) {
      float total = 0;
      for_each_place(input_, places, c, [&](std::size_t i) { total += from[i]; });
      out.value[row][index] = total * share;
    });
  }
}

template <>
void PoolStage<AvgPool>::backward(const Signal& in, const Signal& out, RowRange range) const {
  const float share = 1.0F / static_cast<float>(window_.kernel * window_.kernel);
  for (int row = range.first; row < range.last; ++row) {
    float* to = in.gradient[row];
    std::fill_n(to, input_.size(), 0.0F);
    for_each_window(input_, output_, window_, padding_, [&](std::size_t index, const Places& places, int c) {
      const float gradient = out.gradient[row][index] * share;
      for_each_place(input_, places, c, [&](std::size_t i) { to[i] += gradient; });
    });
  }
}

template class PoolStage<MaxPool>;
template class PoolStage<AvgPool>;

void GlobalAvgPoolStage::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) const {
  const auto channels = static_cast<std::size_t>(input_.channels);
  const float share = 1.0F / static_cast<float>(places());
  for (int row = range.first; row < range.last; ++row) {
    std::fill_n(out.value[row], channels, 0.0F);
    for (std::size_t place = 0; place < places(); ++place)
      add_scaled(out.value[row], in.value[row] + place * channels, 1, channels);
    scale(out.value[row], out.value[row], share, channels);
  }
}

void GlobalAvgPoolStage::backward(const Signal& in, const Signal& out, RowRange range) const {
  const auto channels = static_cast<std::size_t>(input_.channels);
  const float share = 1.0F / static_cast<float>(places());
  for (int row = range.first; row < range.last; ++row)
    for (std::size_t place = 0; place < places(); ++place)
      scale(in.gradient[row] + place * channels, out.gradient[row], share, channels);
}

DropoutStage::DropoutStage(LayerCursor& layers)
    : positions_(static_cast<std::size_t>(layers.positions())),
      size_(layers.input().size() / positions_),
      first_word_(dropout_first_word(layers.model(), layers.number())),
      max_rows_(static_cast<std::size_t>(layers.max_rows())) {
  rate_ = layers.take<Dropout>().rate;
}

void DropoutStage::prepare_training() { masks_ = Buffer<float>(max_rows_ * row_stride(positions_ * size_)); }

void DropoutStage::apply(const float* from, const float* mask, float* to) const {
  for (std::size_t t = 0; t < positions_; ++t, from += row_stride(size_), mask += size_, to += row_stride(size_))
    for (std::size_t i = 0; i < size_; i += kLanes) store(to + i, load(from + i) * load(mask + i));
}

void DropoutStage::forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) {
  for (int row = range.first; row < range.last; ++row) {
    if (batch == nullptr) {
      std::copy_n(in.value[row], positions_ == 1 ? size_ : positions_ * row_stride(size_), out.value[row]);
      continue;
    }
    float* mask = masks_.data() + row * row_stride(positions_ * size_);
    dropout_mask(batch->address, batch->rows[static_cast<std::size_t>(row)], first_word_, rate_, {mask, positions_ * size_});
    apply(in.value[row], mask, out.value[row]);
  }
}

void DropoutStage::backward(const Signal& in, const Signal& out, RowRange range) const {
  for (int row = range.first; row < range.last; ++row)
    apply(out.gradient[row], masks_.data() + row * row_stride(positions_ * size_), in.gradient[row]);
}

}  // namespace fedstride
