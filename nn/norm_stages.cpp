#include <algorithm>

#include "nn/kernels/norms.hpp"
#include "nn/kernels/squares.hpp"
#include "nn/stage_plan.hpp"

namespace fedstride {
namespace {

/// A normalization, one example at a time, with one scale and one shift per channel. Each example's gradient is kept until all
/// are summed in row order, so neither pieces nor threads change a bit.
class NormStage : public RowStageWithParameters {
 public:
  explicit NormStage(LayerCursor& layers)
      : channels_(static_cast<std::size_t>(layers.input().channels)),
        places_(layers.input().size() / channels_),
        data_gradient_(layers.data_gradient()),
        max_rows_(static_cast<std::size_t>(layers.max_rows())),
        tensors_(layers.tensors()) {}

  void prepare_training() override { examples_ = Buffer<float>(max_rows_ * row_stride(2 * channels_)); }
  void begin(const float* weights) override {
    scale_ = weights + tensors_.scale.offset;
    shift_ = weights + tensors_.shift.offset;
  }
  bool trains() const override { return !tensors_.frozen; }
  int stretches() const override { return 2; }
  bool keeps_gradients() const override { return false; }
  void gradient_piece(int, const Signal&, int rows, int, const GradientTarget& target) override {
    report(
        rows, [](int) { return 1.0F; }, target);
  }
  void weighted_piece(int, const Signal&, std::span<const float> factors, const SumTarget& target) override {
    report(
        static_cast<int>(factors.size()), [&](int row) { return factors[static_cast<std::size_t>(row)]; }, target);
  }
  void backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms) override {
    backward(in, out, range);
    if (!trains()) return;
    for (int row = range.first; row < range.last; ++row) squared_norms[row] += squared_norm(example(row), 2 * channels_);
  }

 protected:
  /// An example's gradients with respect to scale and then to shift.
  float* example(int row) { return examples_.data() + static_cast<std::size_t>(row) * row_stride(2 * channels_); }

  std::size_t channels_;
  std::size_t places_;
  bool data_gradient_;
  std::size_t max_rows_;
  const float* scale_ = nullptr;
  const float* shift_ = nullptr;

 private:
  /// Reports the sum of the examples' gradients, multiplied by their factors; terms with factor 0 are omitted.
  template <class T, class FactorOf>
  void report(int rows, FactorOf&& factor_of, const TargetOf<T>& target) {
    T* const total = thread_scratch<Scratch::call, T>(2 * channels_);
    std::fill_n(total, 2 * channels_, T{});
    for (int row = 0; trains() && row < rows; ++row)
      if (const float factor = factor_of(row); factor != 0) add_scaled(total, example(row), factor, 2 * channels_);
    target.report(0, tensors_.scale.offset, total, channels_);
    target.report(1, tensors_.shift.offset, total + channels_, channels_);
  }

  LayerTensors tensors_;
  Buffer<float> examples_;  ///< only for training
};

/// Group normalization with the ReLU after it, if any.
class GroupNormStage final : public NormStage {
 public:
  explicit GroupNormStage(LayerCursor& layers) : NormStage(layers) {
    shape_ = {.places = places_, .channels = channels_, .groups = static_cast<std::size_t>(layers.take<GroupNorm>().groups)};
    relu_ = layers.take_if<Relu>();
    const auto pieces = static_cast<std::size_t>(layers.max_pieces());
    statistics_ = Buffer<float>(max_rows_ * row_stride(2 * channels_));
    sums_ = Buffer<double>(pieces * 2 * channels_);
    factors_ = Buffer<float>(pieces * 3 * channels_);
  }

  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    for (int row = range.first; row < range.last; ++row)
      group_norm_forward(shape_, GroupNorm::kEpsilon, output(), in.value[row], sums(range.piece), factors(range.piece), mean(row),
                         inverse(row), out.value[row]);
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    double* const by_shift = sums(range.piece);
    const double* const by_scale = by_shift + channels_;
    const auto rounded = [](double value) { return static_cast<float>(value); };
    for (int row = range.first; row < range.last; ++row) {
      group_norm_sums(shape_, output(), in.value[row], out.gradient[row], mean(row), inverse(row), factors(range.piece),
                      by_shift);
      std::transform(by_scale, by_scale + channels_, example(row), rounded);
      std::transform(by_shift, by_shift + channels_, example(row) + channels_, rounded);
      if (data_gradient_)
        group_norm_data_gradient(shape_, output(), in.value[row], out.gradient[row], mean(row), inverse(row), by_shift,
                                 factors(range.piece), in.gradient[row]);
    }
  }

 private:
  float* mean(int row) { return statistics_.data() + static_cast<std::size_t>(row) * row_stride(2 * channels_); }
  float* inverse(int row) { return mean(row) + channels_; }
  double* sums(int piece) { return sums_.data() + static_cast<std::size_t>(piece) * 2 * channels_; }
  float* factors(int piece) { return factors_.data() + static_cast<std::size_t>(piece) * 3 * channels_; }
  GroupNormOutput output() const { return {scale_, shift_, relu_}; }

  GroupNormShape shape_;
  bool relu_ = false;
  Buffer<float> statistics_;  ///< mean and inverse standard deviation of every channel of every example
  Buffer<double> sums_;       ///< scratch of each piece
  Buffer<float> factors_;     ///< scratch of each piece
};

/// Layer normalization: statistics over the channels of each place.
class LayerNormStage final : public NormStage {
 public:
  explicit LayerNormStage(LayerCursor& layers)
      : NormStage(layers),
        stride_(layers.positions() == 1 ? channels_ : row_stride(channels_)),
        statistics_(max_rows_ * row_stride(2 * places_)) {
    layers.take<LayerNorm>();
  }

  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    for (int row = range.first; row < range.last; ++row)
      layer_norm_forward(places_, channels_, stride_, LayerNorm::kEpsilon, in.value[row], scale_, shift_, statistics(row),
                         statistics(row) + places_, out.value[row]);
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    for (int row = range.first; row < range.last; ++row)
      layer_norm_backward(places_, channels_, stride_, in.value[row], out.gradient[row], scale_, statistics(row),
                          statistics(row) + places_, example(row), example(row) + channels_,
                          data_gradient_ ? in.gradient[row] : nullptr);
  }

 private:
  /// An example's means, one per place, then its inverse standard deviations.
  float* statistics(int row) { return statistics_.data() + static_cast<std::size_t>(row) * row_stride(2 * places_); }

  std::size_t stride_;  ///< floats from place to place
  Buffer<float> statistics_;
};

}  // namespace

ParameterStagePointer make_stage(const GroupNorm&, LayerCursor& layers) { return std::make_unique<GroupNormStage>(layers); }
ParameterStagePointer make_stage(const LayerNorm&, LayerCursor& layers) { return std::make_unique<LayerNormStage>(layers); }

}  // namespace fedstride
