#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "nn/kernels/norms.hpp"
#include "nn/layer.hpp"
#include "nn/stage_plan.hpp"

namespace fedstride {
namespace {

/// Batch normalization with the ReLU after it, if any. In training, and unless it is frozen, it normalizes by mean and variance of
/// the batch; all sums are in double, example by example. Otherwise it normalizes by the running statistics.
class BatchNormStage final : public RowStageWithParameters {
 public:
  explicit BatchNormStage(LayerCursor& layers)
      : channels_(static_cast<std::size_t>(layers.input().channels)),
        shape_{.places = layers.input().size() / channels_, .channels = channels_, .groups = channels_},
        data_gradient_(layers.data_gradient()),
        tensors_(layers.tensors()),
        momentum_(layers.take<BatchNorm>().momentum),
        relu_(layers.take_if<Relu>()),
        mean_(channels_),
        inverse_(channels_),
        totals_(2 * channels_),
        sums_(2 * channels_),
        factors_(3 * channels_) {}

  bool trains() const override { return !tensors_.frozen; }
  int stretches() const override { return 4; }
  bool keeps_gradients() const override { return false; }
  void begin(const float* weights) override { weights_ = weights; }

  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) override {
    by_batch_ = batch != nullptr && trains();
    if (by_batch_)
      measure(in, range);
    else
      for (std::size_t c = 0; c < channels_; ++c) {
        mean_[c] = weights_[tensors_.running_mean.offset + c];
        inverse_[c] = inverse_of(static_cast<double>(weights_[tensors_.running_variance.offset + c]));
      }
    for (std::size_t c = 0; c < channels_; ++c) factors_[c] = inverse_[c] * output().scale[c];
    for (int row = range.first; row < range.last; ++row) normalize(in.value[row], out.value[row]);
  }

  void backward(const Signal& in, const Signal& out, RowRange range) override {
    std::ranges::fill(totals_, 0.0);
    for (int row = range.first; row < range.last; ++row) {
      group_norm_sums(shape_, output(), in.value[row], out.gradient[row], mean_.data(), inverse_.data(), factors_.data(),
                      sums_.data());
      for (std::size_t i = 0; i < totals_.size(); ++i) totals_[i] += sums_[i];
    }
    if (!data_gradient_) return;
    // The kernel divides by one example's places; running statistics do not depend on the batch.
    const double share = by_batch_ ? 1 / static_cast<double>(range.last - range.first) : 0;
    for (std::size_t i = 0; i < totals_.size(); ++i) sums_[i] = share * totals_[i];
    for (int row = range.first; row < range.last; ++row)
      group_norm_data_gradient(shape_, output(), in.value[row], out.gradient[row], mean_.data(), inverse_.data(), sums_.data(),
                               factors_.data(), in.gradient[row]);
  }

  void gradient_piece(int, const Signal&, int, int, const GradientTarget& target) override {
    const double* const by_shift = totals_.data();
    const double* const by_scale = by_shift + channels_;
    std::vector<float> gradient(channels_);
    const auto report = [&](int slot, const Tensor& tensor, const double* values) {
      for (std::size_t c = 0; c < channels_; ++c) gradient[c] = trains() && values != nullptr ? static_cast<float>(values[c]) : 0;
      target.report(slot, tensor.offset, gradient.data(), channels_);
    };
    report(0, tensors_.scale, by_scale);
    report(1, tensors_.shift, by_shift);
    report(2, tensors_.running_mean, nullptr);
    report(3, tensors_.running_variance, nullptr);
  }

  void backward_norms(const Signal&, const Signal&, RowRange, double*) override { refuse(); }
  void weighted_piece(int, const Signal&, std::span<const float>, const SumTarget&) override { refuse(); }

  void add_batches(float* weights) override {
    for (const float* batch = batches_.data(); weights != nullptr && batch != batches_.data() + batches_.size();
         batch += 2 * channels_) {
      add(batch, means_, weights + tensors_.running_mean.offset);
      if (batch[channels_] >= 0) add(batch + channels_, variances_, weights + tensors_.running_variance.offset);
    }
    batches_.clear();
  }
  void forget_batches() override {
    batches_.clear();
    means_ = variances_ = 0;
  }

 private:
  static float inverse_of(double variance) { return static_cast<float>(1 / std::sqrt(variance + BatchNorm::kEpsilon)); }
  [[noreturn]] static void refuse() {
    throw failure("batchnorm mixes the examples of a batch, so no example has its own gradient");
  }
  GroupNormOutput output() const { return {weights_ + tensors_.scale.offset, weights_ + tensors_.shift.offset, relu_}; }

  /// Adds a batch's values to running ones, which `count` batches have made so far.
  void add(const float* values, std::uint64_t& count, float* running) const {
    ++count;
    const double share = momentum_ > 0 ? momentum_ : 1 / static_cast<double>(count);
    const auto joins = static_cast<float>(share), stays = static_cast<float>(1 - share);
    for (std::size_t c = 0; c < channels_; ++c) running[c] = stays * running[c] + joins * values[c];
  }

  /// Sets mean and deviation of the batch, and keeps its mean and unbiased variance; a variance of one value is unknown: -1.
  void measure(const Signal& in, RowRange range) {
    const auto count = static_cast<double>(range.last - range.first) * static_cast<double>(shape_.places);
    double* const sums = sums_.data();
    const auto add_up = [&](auto&& term) {
      std::fill_n(sums, channels_, 0.0);
      for (int row = range.first; row < range.last; ++row)
        for (std::size_t p = 0; p < shape_.places; ++p)
          for (std::size_t c = 0; c < channels_; ++c) sums[c] += term(in.value[row][p * channels_ + c], c);
    };
    add_up([](float value, std::size_t) { return static_cast<double>(value); });
    for (std::size_t c = 0; c < channels_; ++c) mean_[c] = static_cast<float>(sums[c] / count);
    // About the rounded mean, the one that is subtracted from the values, so the rounding does not matter.
    add_up([&](float value, std::size_t c) {
      const auto distance = static_cast<double>(value - mean_[c]);
      return distance * distance;
    });
    batches_.insert(batches_.end(), mean_.begin(), mean_.end());
    for (std::size_t c = 0; c < channels_; ++c) {
      inverse_[c] = inverse_of(sums[c] / count);
      batches_.push_back(count > 1 ? static_cast<float>(sums[c] / (count - 1)) : -1.0F);
    }
  }

  void normalize(const float* __restrict x, float* __restrict y) const {
    const float* const shift = output().shift;
    for (std::size_t p = 0; p < shape_.places; ++p)
      for (std::size_t c = 0; c < channels_; ++c) {
        const float value = fma(x[p * channels_ + c] - mean_[c], factors_[c], shift[c]);
        y[p * channels_ + c] = !relu_ || value > 0 ? value : 0.0F;
      }
  }

  std::size_t channels_;
  GroupNormShape shape_;  ///< of an example, each channel a group
  bool data_gradient_;
  LayerTensors tensors_;
  double momentum_;
  bool relu_;
  const float* weights_ = nullptr;
  bool by_batch_ = false;
  std::vector<float> mean_, inverse_;  ///< by which the last batch was normalized
  std::vector<double> totals_;         ///< of the batch: gradients of shift, then of scale
  std::vector<double> sums_;           ///< scratch
  std::vector<float> factors_;         ///< scratch
  std::vector<float> batches_;         ///< means and variances of the batches since add_batches
  std::uint64_t means_ = 0;            ///< added since forget_batches
  std::uint64_t variances_ = 0;        ///< the same; fewer if a batch had none
};

}  // namespace

ParameterStagePointer make_stage(const BatchNorm&, LayerCursor& layers) { return std::make_unique<BatchNormStage>(layers); }

}  // namespace fedstride
