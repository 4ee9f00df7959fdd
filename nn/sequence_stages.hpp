#pragma once

#include <span>
#include <vector>

#include "nn/dense_stage.hpp"
#include "nn/kernels/attention.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/layer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

// Stages of sequences, an example at a time. A position's values lie row_stride(values) floats behind those of the one before.

/// A table of rows, one of which each position of an example uses: by its token (Embedding) or its place (Positions, which adds
/// it). The gradient of a row is the sum over the positions that used it, in order of examples and positions.
template <class Kind>
class TableStage {
 public:
  using Layer = Kind;
  static constexpr bool kByToken = std::is_same_v<Kind, Embedding>;

  explicit TableStage(LayerCursor& layers);

  void prepare_training();
  void prepare_gradient() {}
  void prepare_per_example() {}
  void begin(const float* weights) { table_ = weights + tensors_.table.offset; }
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch);
  void backward(const Signal& in, const Signal& out, RowRange range);
  void backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms);

  bool trains() const { return !tensors_.frozen; }
  int stretches() const { return (entries_ + entries_per_stretch_ - 1) / entries_per_stretch_; }
  int gradient_pieces() const { return 1; }
  bool keeps_gradients() const { return true; }
  void gradient_piece(int piece, const Signal& in, int rows, int row_pieces, const GradientTarget& target);
  void weighted_piece(int piece, const Signal& in, std::span<const float> factors, const GradientTarget& target);

 private:
  std::size_t stride() const { return row_stride(static_cast<std::size_t>(size_)); }
  int entry(const Signal& in, int row, int t) const { return kByToken ? static_cast<int>(in.value[row][t]) : t; }
  /// Sorts the positions of the examples by entry; those of one entry stay in their order.
  void sort_uses(const Signal& in, int rows);
  void report(const Signal& in, int rows, std::span<const float> factors, const GradientTarget& target);

  int entries_ = 1;
  int positions_;
  int size_ = 1;
  int entries_per_stretch_ = 1;
  LayerTensors tensors_;
  bool data_gradient_;
  std::size_t max_rows_;
  std::size_t max_pieces_;
  const float* table_ = nullptr;
  // training only
  Rows d_output_;          ///< the output's gradients
  Buffer<int> orders_;     ///< of each example: its positions by entry
  Buffer<float> sums_;     ///< scratch of each piece
  std::vector<int> ends_;  ///< of each entry's uses
  std::vector<int> uses_;  ///< row * positions + t
  Buffer<float> sum_;
};

/// The products of attention's queries, keys and values are the dense stage before it, that with its output weights the one
/// behind it.
class AttentionStage {
 public:
  using Layer = Attention;
  static DenseStage::Options product_before(const LayerCursor& layers);
  static DenseStage::Options product_after(const LayerCursor& layers);

  explicit AttentionStage(LayerCursor& layers);
  void prepare_training() {}
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch);
  void backward(const Signal& in, const Signal& out, RowRange range);

 private:
  float* weights(int row) { return weights_.data() + static_cast<std::size_t>(row) * weights_size_; }

  AttentionShape shape_;
  std::size_t weights_size_;
  Buffer<float> weights_;  ///< of every example
  Buffer<float> scratch_;  ///< of each piece
  std::size_t scratch_size_;
};

class LastStage {
 public:
  using Layer = Last;
  explicit LastStage(LayerCursor& layers);
  void prepare_training() {}
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) const;
  void backward(const Signal& in, const Signal& out, RowRange range) const;

 private:
  int positions_;
  std::size_t stride_;
};

/// The lines of a picture, put as far apart as positions are.
class SequenceStage {
 public:
  using Layer = Sequence;
  explicit SequenceStage(LayerCursor& layers);
  void prepare_training() {}
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) const;
  void backward(const Signal& in, const Signal& out, RowRange range) const;

 private:
  int positions_;
  std::size_t size_;
};

static_assert(RowStageWithParameters<TableStage<Embedding>> && RowStageWithParameters<TableStage<Positions>>);
static_assert(RowStage<AttentionStage> && RowStage<LastStage> && RowStage<SequenceStage>);

}  // namespace fedstride
