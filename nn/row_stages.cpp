#include <algorithm>
#include <cstdint>

#include "core/simd.hpp"
#include "nn/dropout.hpp"
#include "nn/kernels/pool.hpp"
#include "nn/kernels/squares.hpp"
#include "nn/stage_plan.hpp"

// Pools and dropout, one example at a time.

namespace fedstride {
namespace {

/// Places of an image: rows [top, bottom), columns [left, right).
struct Places {
  int top, bottom, left, right;
};

/// Calls body(output index, the window's places in the image, channel) for every output of an image.
void for_each_window(Shape input, Shape output, Window window, int padding, auto&& body) {
  std::size_t index = 0;
  for (int y = 0; y < output.height; ++y)
    for (int x = 0; x < output.width; ++x) {
      const int top = y * window.stride - padding, left = x * window.stride - padding;
      const Places places{std::max(top, 0), std::min(top + window.kernel, input.height), std::max(left, 0),
                          std::min(left + window.kernel, input.width)};
      for (int c = 0; c < output.channels; ++c, ++index) body(index, places, c);
    }
}

/// Calls body(input index) for each of these places.
void for_each_place(Shape input, const Places& places, int channel, auto&& body) {
  for (int y = places.top; y < places.bottom; ++y)
    for (int x = places.left; x < places.right; ++x)
      body((static_cast<std::size_t>(y) * input.width + static_cast<std::size_t>(x)) * input.channels + channel);
}

/// A max-pool or average pool that is not part of a convolution's stage.
template <class Kind>
class PoolStage : public RowStage {
 public:
  explicit PoolStage(LayerCursor& layers) : input_(layers.input()), max_rows_(static_cast<std::size_t>(layers.max_rows())) {
    const Kind& pool = layers.take<Kind>();
    window_ = {pool.kernel, pool.stride};
    padding_ = pool.padding;
    output_ = layers.output();
  }

 protected:
  Shape input_;
  Shape output_;
  Window window_;
  int padding_ = 0;
  std::size_t max_rows_;
};

class MaxPoolStage final : public PoolStage<MaxPool> {
 public:
  using PoolStage::PoolStage;
  void prepare_training() override { winners_ = Buffer<std::uint32_t>(max_rows_ * output_.size()); }
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) override {
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
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    for (int row = range.first; row < range.last; ++row) {
      std::fill_n(in.gradient[row], input_.size(), 0.0F);
      for (std::size_t i = 0; i < output_.size(); ++i)
        in.gradient[row][winners_[row * output_.size() + i]] += out.gradient[row][i];
    }
  }

 private:
  Buffer<std::uint32_t> winners_;  ///< for each output, the index of its input value
};

class AvgPoolStage final : public PoolStage<AvgPool> {
 public:
  using PoolStage::PoolStage;
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    for (int row = range.first; row < range.last; ++row) {
      const float* from = in.value[row];
      for_each_window(input_, output_, window_, padding_, [&](std::size_t index, const Places& places, int c) {
        float total = 0;
        for_each_place(input_, places, c, [&](std::size_t i) { total += from[i]; });
        out.value[row][index] = total * share();
      });
    }
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    for (int row = range.first; row < range.last; ++row) {
      float* to = in.gradient[row];
      std::fill_n(to, input_.size(), 0.0F);
      for_each_window(input_, output_, window_, padding_, [&](std::size_t index, const Places& places, int c) {
        const float gradient = out.gradient[row][index] * share();
        for_each_place(input_, places, c, [&](std::size_t i) { to[i] += gradient; });
      });
    }
  }

 private:
  float share() const { return 1.0F / static_cast<float>(window_.kernel * window_.kernel); }
};

class GlobalAvgPoolStage final : public RowStage {
 public:
  explicit GlobalAvgPoolStage(LayerCursor& layers)
      : channels_(static_cast<std::size_t>(layers.input().channels)), places_(layers.input().size() / channels_) {
    layers.take<GlobalAvgPool>();
  }
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    for (int row = range.first; row < range.last; ++row) {
      std::fill_n(out.value[row], channels_, 0.0F);
      for (std::size_t place = 0; place < places_; ++place)
        add_scaled(out.value[row], in.value[row] + place * channels_, 1, channels_);
      scale(out.value[row], out.value[row], share(), channels_);
    }
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    for (int row = range.first; row < range.last; ++row)
      for (std::size_t place = 0; place < places_; ++place)
        scale(in.gradient[row] + place * channels_, out.gradient[row], share(), channels_);
  }

 private:
  float share() const { return 1.0F / static_cast<float>(places_); }

  std::size_t channels_;
  std::size_t places_;
};

class DropoutStage final : public RowStage {
 public:
  explicit DropoutStage(LayerCursor& layers)
      : positions_(static_cast<std::size_t>(layers.positions())),
        size_(layers.input().size() / positions_),
        first_word_(dropout_first_word(layers.model(), layers.number())),
        max_rows_(static_cast<std::size_t>(layers.max_rows())),
        rate_(layers.take<Dropout>().rate) {}

  void prepare_training() override { masks_ = Buffer<float>(max_rows_ * row_stride(positions_ * size_)); }
  /// Without a batch (evaluation) nothing is dropped.
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) override {
    for (int row = range.first; row < range.last; ++row) {
      if (batch == nullptr) {
        std::copy_n(in.value[row], positions_ == 1 ? size_ : positions_ * row_stride(size_), out.value[row]);
        continue;
      }
      dropout_mask(batch->address, batch->rows[static_cast<std::size_t>(row)], first_word_, rate_,
                   {mask(row), positions_ * size_});
      apply(in.value[row], mask(row), out.value[row]);
    }
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    for (int row = range.first; row < range.last; ++row) apply(out.gradient[row], mask(row), in.gradient[row]);
  }

 private:
  float* mask(int row) { return masks_.data() + row * row_stride(positions_ * size_); }
  /// Multiplies one example's values by the mask. The floats after a position's values are zero and stay zero.
  void apply(const float* from, const float* mask, float* to) const {
    for (std::size_t t = 0; t < positions_; ++t, from += row_stride(size_), mask += size_, to += row_stride(size_))
      for (std::size_t i = 0; i < size_; i += kLanes) store(to + i, load(from + i) * load(mask + i));
  }

  std::size_t positions_;
  std::size_t size_;  ///< number of values per position
  std::size_t first_word_;
  std::size_t max_rows_;
  double rate_;
  Buffer<float> masks_;
};

}  // namespace

RowStagePointer make_stage(const MaxPool&, LayerCursor& layers) { return std::make_unique<MaxPoolStage>(layers); }
RowStagePointer make_stage(const AvgPool&, LayerCursor& layers) { return std::make_unique<AvgPoolStage>(layers); }
RowStagePointer make_stage(const GlobalAvgPool&, LayerCursor& layers) { return std::make_unique<GlobalAvgPoolStage>(layers); }
RowStagePointer make_stage(const Dropout&, LayerCursor& layers) { return std::make_unique<DropoutStage>(layers); }

}  // namespace fedstride
