#pragma once

#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "core/gradient.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/network.hpp"

namespace fedstride {

// A network is a line of stages, each of one or a few layers that are computed together. Between two stages there is one row of
// values per example and, in training, the gradient of the loss with respect to each value. A residual block is part of the line,
// too: a stage that forks, the body, the shortcut (which reads the fork's output) and a stage that adds.

/// The examples of one piece of work, and the number of the piece (each piece has its own scratch memory).
struct RowRange {
  int first = 0;
  int last = 0;
  int piece = 0;
};

/// Values between two stages, and their gradients (no data if they are not needed).
struct Signal {
  Rows value;
  Rows gradient;
  /// For a stage that adds: the values to add. For a stage whose output is read twice: the same values, with the second reader's
  /// gradient.
  const Signal* beside = nullptr;
};

/// The place of one of a layer's tensors in the flat vector; size 0 if the layer has no such tensor.
struct Tensor {
  std::size_t offset = 0;
  std::size_t size = 0;
};

/// A layer's tensors.
struct LayerTensors : ByRole<Tensor> {
  bool frozen = false;
};

/// Passes a stage's gradient to the sink, one stretch per slot; the slots are added in order at the end of the step.
template <class T>
struct TargetOf {
  function_ref<double(std::size_t offset, std::span<const T>)> sink;
  double* slots;  ///< the stage's own slots, stretches() of them

  void report(int slot, std::size_t offset, const T* gradient, std::size_t size) const {
    slots[slot] = sink(offset, {gradient, size});
  }
};
using GradientTarget = TargetOf<float>;
using SumTarget = TargetOf<double>;

/// The approximate number of floats passed to a sink at once, small enough to stay in the first-level cache.
inline constexpr std::size_t kStretch = 2048;

/// A cursor over the layers that are not yet in a stage. A stage's constructor takes the layers it computes.
class LayerCursor {
 public:
  /// `frozen` has one flag per layer or is empty. All arguments must outlive the cursor.
  LayerCursor(const Model& model, const std::vector<bool>& frozen, int max_rows, int max_pieces)
      : model_(model),
        frozen_(frozen),
        max_rows_(max_rows),
        max_pieces_(max_pieces),
        needs_gradient_(model.shapes().size(), false) {}

  bool done() const { return next_ == model_.layers().size(); }
  const Layer& layer() const { return model_.layers()[next_]; }
  int number() const { return static_cast<int>(next_); }
  Reads reads() const { return model_.reads()[next_]; }
  /// The shape that the next layer reads.
  Shape input() const { return model_.shapes()[static_cast<std::size_t>(reads().from)]; }
  /// The number of positions of the sequence that the next layer reads; 1 if it reads no sequence.
  int positions() const { return model_.is_sequence(static_cast<std::size_t>(reads().from)) ? input().height : 1; }
  /// The number of floats from the first to the last value of an example that the next layer reads.
  std::size_t span() const;
  /// The output shape of the last layer taken.
  Shape output() const { return model_.shapes()[next_]; }
  /// The number of floats from one example to the next in the last taken layer's output.
  std::size_t output_stride() const;
  /// The tensors of the next layer.
  LayerTensors tensors() const;

  template <class Kind>
  const Kind* peek() const {
    return done() ? nullptr : std::get_if<Kind>(&layer());
  }
  /// Takes the next layer, which must be of kind Kind.
  template <class Kind>
  const Kind& take() {
    return std::get<Kind>(model_.layers()[next_++]);
  }
  template <class Kind>
  bool take_if() {
    if (peek<Kind>() == nullptr) return false;
    ++next_;
    return true;
  }

  const Model& model() const { return model_; }
  int max_rows() const { return max_rows_; }
  int max_pieces() const { return max_pieces_; }  ///< maximum number of pieces of the rows
  /// True if a layer before the next one trains, so the next one's input gradient is needed.
  bool data_gradient() const {
    const auto [from, added] = reads();
    return needs_gradient_[static_cast<std::size_t>(from)] || (added >= 0 && needs_gradient_[static_cast<std::size_t>(added)]);
  }
  /// Sets whether the output of the last layer taken needs a gradient.
  void output_needs_gradient(bool needs) { needs_gradient_[next_] = needs; }

 private:
  const Model& model_;
  const std::vector<bool>& frozen_;
  int max_rows_;
  int max_pieces_;
  std::size_t next_ = 0;
  std::vector<bool> needs_gradient_;  ///< one flag per slot
};

/// One or a few layers that are computed together, one example at a time; a batch is cut by rows.
class RowStage {
 public:
  virtual ~RowStage() = default;
  /// Allocates, once, the memory that every backward pass needs.
  virtual void prepare_training() {}
  /// `batch` is null in evaluation.
  virtual void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) = 0;
  /// Called if this stage or an earlier one trains.
  virtual void backward(const Signal& in, const Signal& out, RowRange range) = 0;
};

/// A stage whose layer has parameters.
class RowStageWithParameters : public RowStage {
 public:
  virtual bool trains() const = 0;
  /// The number of stretches of its gradient.
  virtual int stretches() const = 0;
  /// Called before each step.
  virtual void begin(const float* weights) = 0;
  /// Allocates memory for one of the two kinds of backward pass.
  virtual void prepare_gradient() {}
  virtual void prepare_per_example() {}

  /// For a stage with running statistics: those in `weights`, with the batches of the gradients since the last call added to them if
  /// `weights` is not null.
  virtual void add_batches(float* /*weights*/) {}
  /// Drops these batches; a cumulative average begins anew.
  virtual void forget_batches() {}

  /// True if gradient pieces read out.gradient again after backward; asked once everything is prepared.
  virtual bool keeps_gradients() const = 0;
  /// After backward has run for every row, gradient_piece reports the gradients of pieces 0 ... gradient_pieces() - 1; row_pieces
  /// is the number of ranges for which backward was called.
  virtual int gradient_pieces() const { return 1; }
  virtual void gradient_piece(int piece, const Signal& in, int rows, int row_pieces, const GradientTarget& target) = 0;

  /// Like backward, but also adds the squared norm of each example's own gradient to squared_norms[row], if the stage trains.
  virtual void backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms) = 0;
  /// Called afterwards: reports the sum, in double, of those gradients, each multiplied by its factor. An example's gradient has the
  /// same bits as in backward_norms, whatever the other examples are.
  virtual void weighted_piece(int piece, const Signal& in, std::span<const float> factors, const SumTarget& target) = 0;
};

}  // namespace fedstride
