#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "nn/kernels/sequences.hpp"
#include "nn/kernels/squares.hpp"
#include "nn/stage_plan.hpp"

// Stages for sequences, one example at a time. Consecutive positions are row_stride(values) floats apart.

namespace fedstride {
namespace {

/// A table from which each position of an example uses one row: that of its token (Embedding) or of its index (Positions, which
/// adds the row to the input). The gradient of a row is the sum over the positions that used it, in order of examples and
/// positions.
template <class Kind>
class TableStage final : public RowStageWithParameters {
 public:
  static constexpr bool kByToken = std::is_same_v<Kind, Embedding>;

  explicit TableStage(LayerCursor& layers)
      : positions_(layers.input().height),
        tensors_(layers.tensors()),
        data_gradient_(layers.data_gradient()),
        max_rows_(static_cast<std::size_t>(layers.max_rows())),
        max_pieces_(static_cast<std::size_t>(layers.max_pieces())) {
    const Kind& layer = layers.take<Kind>();
    if constexpr (kByToken)
      entries_ = layer.vocabulary;
    else
      entries_ = positions_;
    size_ = layers.output().channels;
    entries_per_stretch_ = std::max(1, static_cast<int>(kStretch) / size_);
  }

  void prepare_training() override {
    ends_.resize(static_cast<std::size_t>(entries_) + 1);
    uses_.resize(max_rows_ * static_cast<std::size_t>(positions_));
    orders_ = Buffer<int>(uses_.size());
    sums_ = Buffer<float>(max_pieces_ * stride());
  }
  void begin(const float* weights) override { table_ = weights + tensors_.table.offset; }
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    const auto size = static_cast<std::size_t>(size_);
    for (int row = range.first; row < range.last; ++row)
      for (int t = 0; t < positions_; ++t) {
        float* const to = out.value[row] + t * stride();
        const float* const from = table_ + static_cast<std::size_t>(entry(in, row, t)) * size;
        if constexpr (kByToken)
          std::copy_n(from, size, to);
        else
          std::transform(from, from + size, in.value[row] + t * stride(), to, [](float a, float b) { return a + b; });
      }
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    if (range.piece == 0) d_output_ = out.gradient;  // the same for every piece
    if constexpr (!kByToken)
      if (data_gradient_)
        for (int row = range.first; row < range.last; ++row)
          std::copy_n(out.gradient[row], positions_ * stride(), in.gradient[row]);
  }
  void backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms) override {
    backward(in, out, range);
    if (!trains()) return;
    const auto size = static_cast<std::size_t>(size_);
    const auto d_at = [&](int row, int t) { return out.gradient[row] + t * stride(); };
    const auto positions = static_cast<std::size_t>(positions_);
    float* const sum = sums_.data() + static_cast<std::size_t>(range.piece) * stride();
    for (int row = range.first; row < range.last; ++row) {
      const std::span order(orders_.data() + static_cast<std::size_t>(row) * positions, positions);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::sort(order, {}, [&](int t) { return std::pair(entry(in, row, t), t); });
      for (std::size_t i = 0; i < positions;) {
        std::fill_n(sum, size, 0.0F);
        const int same = entry(in, row, order[i]);
        for (; i < positions && entry(in, row, order[i]) == same; ++i) add_scaled(sum, d_at(row, order[i]), 1.0F, size);
        squared_norms[row] += squared_norm(sum, size);
      }
    }
  }

  bool trains() const override { return !tensors_.frozen; }
  int stretches() const override { return (entries_ + entries_per_stretch_ - 1) / entries_per_stretch_; }
  bool keeps_gradients() const override { return true; }
  void gradient_piece(int, const Signal& in, int rows, int, const GradientTarget& target) override {
    report(in, rows, target, [&](float* sum, std::span<const int> uses) {
      for (const int use : uses) add_scaled(sum, d_at(use), 1.0F, static_cast<std::size_t>(size_));
    });
  }
  void weighted_piece(int, const Signal& in, std::span<const float> factors, const SumTarget& target) override {
    const auto size = static_cast<std::size_t>(size_);
    report(in, static_cast<int>(factors.size()), target, [&](double* sum, std::span<const int> uses) {
      float* const own = thread_scratch<Scratch::call>(size);  // one example's gradient
      for (std::size_t i = 0; i < uses.size();) {
        const int row = uses[i] / positions_;
        std::fill_n(own, size, 0.0F);
        for (; i < uses.size() && uses[i] / positions_ == row; ++i) add_scaled(own, d_at(uses[i]), 1.0F, size);
        if (const float factor = factors[static_cast<std::size_t>(row)]; factor != 0) add_scaled(sum, own, factor, size);
      }
    });
  }

 private:
  std::size_t stride() const { return row_stride(static_cast<std::size_t>(size_)); }
  int entry(const Signal& in, int row, int t) const { return kByToken ? static_cast<int>(in.value[row][t]) : t; }
  /// Sorts the positions of the examples by table entry, keeping the order of positions with the same entry.
  void sort_uses(const Signal& in, int rows) {
    std::ranges::fill(ends_, 0);
    for (int row = 0; row < rows; ++row)
      for (int t = 0; t < positions_; ++t) ++ends_[static_cast<std::size_t>(entry(in, row, t)) + 1];
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    // ends_[e] is where entry e's uses begin and, after the next loop, where they end.
    for (int row = 0; row < rows; ++row)
      for (int t = 0; t < positions_; ++t)
        uses_[static_cast<std::size_t>(ends_[static_cast<std::size_t>(entry(in, row, t))]++)] = row * positions_ + t;
  }
  /// The output's gradient at a use.
  const float* d_at(int use) const { return d_output_[use / positions_] + use % positions_ * stride(); }
  /// add(sum, uses) adds up the gradients of an entry's uses.
  template <class T, class Add>
  void report(const Signal& in, int rows, const TargetOf<T>& target, Add&& add) {
    const auto size = static_cast<std::size_t>(size_);
    if (trains()) sort_uses(in, rows);
    int slot = 0;
    int use = 0;
    T* const sums = thread_scratch<Scratch::call, T>(static_cast<std::size_t>(entries_per_stretch_) * size);
    for (int first = 0; first < entries_; first += entries_per_stretch_, ++slot) {
      const int last = std::min(first + entries_per_stretch_, entries_);
      const std::size_t values = static_cast<std::size_t>(last - first) * size;
      std::fill_n(sums, values, T{});
      for (int e = first; trains() && e < last; ++e) {
        const int end = ends_[static_cast<std::size_t>(e)];
        add(sums + static_cast<std::size_t>(e - first) * size, std::span<const int>(uses_.data() + use, uses_.data() + end));
        use = end;
      }
      target.report(slot, tensors_.table.offset + static_cast<std::size_t>(first) * size, sums, values);
    }
  }

  int entries_ = 1;
  int positions_;
  int size_ = 1;
  int entries_per_stretch_ = 1;
  LayerTensors tensors_;
  bool data_gradient_;
  std::size_t max_rows_;
  std::size_t max_pieces_;
  const float* table_ = nullptr;
  // only for training
  Rows d_output_;          ///< the output's gradients
  Buffer<int> orders_;     ///< for each example, its positions sorted by entry
  Buffer<float> sums_;     ///< scratch of each piece
  std::vector<int> ends_;  ///< where each entry's uses end
  std::vector<int> uses_;  ///< row * positions + t
};

/// Attention. The preceding dense stage computes its queries, keys and values; the following one multiplies by its output
/// weights.
class AttentionStage final : public RowStage {
 public:
  explicit AttentionStage(LayerCursor& layers) {
    const auto size = static_cast<std::size_t>(layers.input().channels);
    shape_ = {.positions = layers.positions(),
              .size = layers.input().channels,
              .heads = layers.take<Attention>().heads,
              .input_stride = row_stride(3 * size),
              .output_stride = row_stride(size)};
    weights_size_ = static_cast<std::size_t>(shape_.heads) * shape_.positions * shape_.positions;
    weights_ = Buffer<float>(static_cast<std::size_t>(layers.max_rows()) * weights_size_);
    scratch_size_ = row_stride(static_cast<std::size_t>(shape_.positions) * static_cast<std::size_t>(shape_.positions));
    scratch_ = Buffer<float>(static_cast<std::size_t>(layers.max_pieces()) * scratch_size_);
  }

  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    for (int row = range.first; row < range.last; ++row) attention_forward(shape_, in.value[row], weights(row), out.value[row]);
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    for (int row = range.first; row < range.last; ++row)
      attention_backward(shape_, in.value[row], weights(row), out.gradient[row],
                         scratch_.data() + static_cast<std::size_t>(range.piece) * scratch_size_, in.gradient[row]);
  }

 private:
  float* weights(int row) { return weights_.data() + static_cast<std::size_t>(row) * weights_size_; }

  AttentionShape shape_;
  std::size_t weights_size_;
  Buffer<float> weights_;  ///< for every example
  Buffer<float> scratch_;  ///< for each piece
  std::size_t scratch_size_;
};

class LastStage final : public RowStage {
 public:
  explicit LastStage(LayerCursor& layers)
      : positions_(layers.positions()), stride_(row_stride(static_cast<std::size_t>(layers.input().channels))) {
    layers.take<Last>();
  }
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    for (int row = range.first; row < range.last; ++row)
      std::copy_n(in.value[row] + (positions_ - 1) * stride_, stride_, out.value[row]);
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    for (int row = range.first; row < range.last; ++row) {
      std::fill_n(in.gradient[row], (positions_ - 1) * stride_, 0.0F);
      std::copy_n(out.gradient[row], stride_, in.gradient[row] + (positions_ - 1) * stride_);
    }
  }

 private:
  int positions_;
  std::size_t stride_;
};

/// Copies an image's rows to the positions of a sequence, which are farther apart.
class SequenceStage final : public RowStage {
 public:
  explicit SequenceStage(LayerCursor& layers)
      : positions_(layers.input().height), size_(layers.input().size() / static_cast<std::size_t>(positions_)) {
    layers.take<Sequence>();
  }
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    for (int row = range.first; row < range.last; ++row)
      for (int t = 0; t < positions_; ++t) std::copy_n(in.value[row] + t * size_, size_, out.value[row] + t * row_stride(size_));
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    for (int row = range.first; row < range.last; ++row)
      for (int t = 0; t < positions_; ++t)
        std::copy_n(out.gradient[row] + t * row_stride(size_), size_, in.gradient[row] + t * size_);
  }

 private:
  int positions_;
  std::size_t size_;
};

}  // namespace

Products products_of(const Attention&, const LayerCursor& layers) {
  const int size = layers.input().channels;
  return {.before = DenseStage::Options::first_product(layers, size, 3 * size),
          .after = DenseStage::Options::second_product(layers, size, size)};
}

ParameterStagePointer make_stage(const Embedding&, LayerCursor& layers) {
  return std::make_unique<TableStage<Embedding>>(layers);
}
ParameterStagePointer make_stage(const Positions&, LayerCursor& layers) {
  return std::make_unique<TableStage<Positions>>(layers);
}
RowStagePointer make_stage(const Attention&, LayerCursor& layers) { return std::make_unique<AttentionStage>(layers); }
RowStagePointer make_stage(const Last&, LayerCursor& layers) { return std::make_unique<LastStage>(layers); }
RowStagePointer make_stage(const Sequence&, LayerCursor& layers) { return std::make_unique<SequenceStage>(layers); }

}  // namespace fedstride
