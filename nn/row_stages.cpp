#include "nn/row_stages.hpp"

#include <algorithm>
#include <limits>

#include "core/simd.hpp"
#include "nn/dropout.hpp"

namespace fedstride {

template <>
void ActivationStage<Relu>::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) const {
  for (int row = range.first; row < range.last; ++row)
    for (std::size_t i = 0; i < size_; i += kLanes) store(out.value[row] + i, positive(load(in.value[row] + i)));
}

template <>
void ActivationStage<Relu>::backward(const Signal& in, const Signal& out, RowRange range) const {
  for (int row = range.first; row < range.last; ++row)
    for (std::size_t i = 0; i < size_; i += kLanes)
      store(in.gradient[row] + i, load(out.value[row] + i) > Lanes{} ? load(out.gradient[row] + i) : Lanes{});
}

template <>
void ActivationStage<Tanh>::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) const {
  for (int row = range.first; row < range.last; ++row)
    for (std::size_t i = 0; i < size_; i += kLanes) store(out.value[row] + i, tanh(load(in.value[row] + i)));
}

template <>
void ActivationStage<Tanh>::backward(const Signal& in, const Signal& out, RowRange range) const {
  for (int row = range.first; row < range.last; ++row) {
    for (std::size_t i = 0; i < size_; i += kLanes) {
      const Lanes value = load(out.value[row] + i);
      store(in.gradient[row] + i, load(out.gradient[row] + i) * (1.0F - value * value));
    }
  }
}

template <class Kind>
PoolStage<Kind>::PoolStage(LayerCursor& layers) : input_(layers.input()), max_rows_(static_cast<std::size_t>(layers.max_rows())) {
  const Kind& pool = layers.take<Kind>();
  window_ = {pool.kernel, pool.stride};
  output_ = layers.input();
}

template <>
void PoolStage<MaxPool>::prepare_training() {
  winners_ = Buffer<std::uint32_t>(max_rows_ * output_.size());
}

template <>
void PoolStage<AvgPool>::prepare_training() {}

namespace {

/// Calls body(output index, index of the window's first input) for every output of a picture.
template <class Body>
void for_each_window(Shape input, Shape output, Window window, Body&& body) {
  std::size_t index = 0;
  for (int y = 0; y < output.height; ++y)
    for (int x = 0; x < output.width; ++x)
      for (int c = 0; c < output.channels; ++c, ++index)
        body(index, (static_cast<std::size_t>(y) * window.stride * input.width + static_cast<std::size_t>(x) * window.stride) *
                            input.channels +
                        c);
}

/// Calls body(input index) for every place of a window.
template <class Body>
void for_each_place(Shape input, Window window, std::size_t first, Body&& body) {
  for (int j = 0; j < window.kernel; ++j)
    for (int i = 0; i < window.kernel; ++i)
      body(first + (static_cast<std::size_t>(j) * input.width + static_cast<std::size_t>(i)) * input.channels);
}

}  // namespace

template <>
void PoolStage<MaxPool>::forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) {
  for (int row = range.first; row < range.last; ++row) {
    const float* from = in.value[row];
    for_each_window(input_, output_, window_, [&](std::size_t index, std::size_t first) {
      std::size_t winner = first;
      for_each_place(input_, window_, first, [&](std::size_t i) { winner = from[i] > from[winner] ? i : winner; });
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
    for_each_window(input_, output_, window_, [&](std::size_t index, std::size_t first) {
      float total = 0;
      for_each_place(input_, window_, first, [&](std::size_t i) { total += from[i]; });
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
    for_each_window(input_, output_, window_, [&](std::size_t index, std::size_t first) {
      const float gradient = out.gradient[row][index] * share;
      for_each_place(input_, window_, first, [&](std::size_t i) { to[i] += gradient; });
    });
  }
}

template class PoolStage<MaxPool>;
template class PoolStage<AvgPool>;

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
