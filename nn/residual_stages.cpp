#include <algorithm>

#include "core/simd.hpp"
#include "nn/stage_plan.hpp"

// The beginning, end and shortcut of a residual block, one example at a time.

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

class ForkStage final : public RowStage {
 public:
  explicit ForkStage(LayerCursor& layers) : size_(layers.span()) { layers.take<Fork>(); }
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    copy_or_skip(in.value, out.value, size_, range);
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    add_rows(out.gradient, out.beside->gradient, in.gradient, size_, range);
  }

 private:
  std::size_t size_;
};

class AddStage final : public RowStage {
 public:
  explicit AddStage(LayerCursor& layers) : size_(layers.span()) { layers.take<Add>(); }
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    add_rows(in.value, in.beside->value, out.value, size_, range);
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    copy_or_skip(out.gradient, in.gradient, size_, range);
    copy_or_skip(out.gradient, in.beside->gradient, size_, range);
  }

 private:
  std::size_t size_;
};

class SubsampleStage final : public RowStage {
 public:
  explicit SubsampleStage(LayerCursor& layers)
      : input_(layers.input()), stride_(layers.take<Subsample>().stride), output_(layers.output()) {}

  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    for (int row = range.first; row < range.last; ++row) {
      std::fill_n(out.value[row], output_.size(), 0.0F);
      for_each_place(
          [&](std::size_t from, std::size_t to) { std::copy_n(in.value[row] + from, input_.channels, out.value[row] + to); });
    }
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    for (int row = range.first; row < range.last; ++row) {
      std::fill_n(in.gradient[row], input_.size(), 0.0F);
      for_each_place([&](std::size_t to, std::size_t from) {
        std::copy_n(out.gradient[row] + from, input_.channels, in.gradient[row] + to);
      });
    }
  }

 private:
  /// Calls body(index in the input, index in the output) for every place of the output.
  void for_each_place(auto&& body) const {
    const auto inputs = static_cast<std::size_t>(input_.channels), outputs = static_cast<std::size_t>(output_.channels);
    for (int y = 0; y < output_.height; ++y)
      for (int x = 0; x < output_.width; ++x)
        body((static_cast<std::size_t>(y) * stride_ * input_.width + static_cast<std::size_t>(x) * stride_) * inputs,
             (static_cast<std::size_t>(y) * output_.width + static_cast<std::size_t>(x)) * outputs);
  }

  Shape input_;
  int stride_;
  Shape output_;
};

}  // namespace

RowStagePointer make_stage(const Fork&, LayerCursor& layers) { return std::make_unique<ForkStage>(layers); }
RowStagePointer make_stage(const Add&, LayerCursor& layers) { return std::make_unique<AddStage>(layers); }
RowStagePointer make_stage(const Subsample&, LayerCursor& layers) { return std::make_unique<SubsampleStage>(layers); }

}  // namespace fedstride
