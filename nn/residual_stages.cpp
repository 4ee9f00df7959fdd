#include "nn/residual_stages.hpp"

#include <algorithm>

#include "core/simd.hpp"

namespace fedstride {
namespace {

void copy_or_skip(const Rows& from, const Rows& to, std::size_t size, RowRange range) {
  if (to.data == nullptr) return;
  for (int row = range.first; row < range.last; ++row) std::copy_n(from[row], size, to[row]);
}

void add_rows(const Rows& a, const Rows& b, const Rows& to, std::size_t size, RowRange range) {
  for (int row = range.first; row < range.last; ++row)
    for (std::size_t i = 0; i < size; i += kLanes) store(to[row] + i, load(a[row] + i) + load(b[row] + i));
}

}  // namespace

void ForkStage::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) const {
  copy_or_skip(in.value, out.value, size_, range);
}

void ForkStage::backward(const Signal& in, const Signal& out, RowRange range) const {
  add_rows(out.gradient, out.beside->gradient, in.gradient, size_, range);
}

void AddStage::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) const {
  add_rows(in.value, in.beside->value, out.value, size_, range);
}

void AddStage::backward(const Signal& in, const Signal& out, RowRange range) const {
  copy_or_skip(out.gradient, in.gradient, size_, range);
  copy_or_skip(out.gradient, in.beside->gradient, size_, range);
}

template <class Body>
void SubsampleStage::for_each_place(Body&& body) const {
  const auto inputs = static_cast<std::size_t>(input_.channels), outputs = static_cast<std::size_t>(output_.channels);
  for (int y = 0; y < output_.height; ++y)
    for (int x = 0; x < output_.width; ++x)
      body((static_cast<std::size_t>(y) * stride_ * input_.width + static_cast<std::size_t>(x) * stride_) * inputs,
           (static_cast<std::size_t>(y) * output_.width + static_cast<std::size_t>(x)) * outputs);
}

void SubsampleStage::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) const {
  for (int row = range.first; row < range.last; ++row) {
    std::fill_n(out.value[row], output_.size(), 0.0F);
    for_each_place(
        [&](std::size_t from, std::size_t to) { std::copy_n(in.value[row] + from, input_.channels, out.value[row] + to); });
  }
}

void SubsampleStage::backward(const Signal& in, const Signal& out, RowRange range) const {
  for (int row = range.first; row < range.last; ++row) {
    std::fill_n(in.gradient[row], input_.size(), 0.0F);
    for_each_place(
        [&](std::size_t to, std::size_t from) { std::copy_n(out.gradient[row] + from, input_.channels, in.gradient[row] + to); });
  }
}

}  // namespace fedstride
