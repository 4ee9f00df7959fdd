#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "core/gradient.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/network.hpp"

namespace fedstride {

// A network is a line of stages: one or a few layers that are computed together. Between two stages there is a row of
// values for each example, and in training the gradient of the loss by each value. A residual block is a piece of the line
// too: a stage that forks, the body, the shortcut, which reads what the fork made, and a stage that adds.

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
  /// A stage that adds finds here what it adds to the values. A stage that makes values which are read twice finds here the same
  /// values with the second reader's gradient.
  const Signal* beside = nullptr;
};

/// The place of one of a layer's tensors in the flat vector; size 0 if the layer does not have it.
struct Tensor {
  std::size_t offset = 0;
  std::size_t size = 0;
};

/// A layer's tensors.
struct LayerTensors : ByRole<Tensor> {
  bool frozen = false;
};

/// Passes a stage's gradient to the sink, a stretch a slot; the slots are added up in order at the end of the step.
struct GradientTarget {
  GradientSink sink;
  double* slots;  ///< the stage's own, stretches() of them

  void report(int slot, std::size_t offset, const float* gradient, std::size_t size) const {
    slots[slot] = sink(offset, {gradient, size});
  }
};

/// About the number of floats a sink gets at once: they stay in the first-level cache.
inline constexpr std::size_t kStretch = 2048;

/// The layers that are in no stage yet. A stage's constructor takes the layers it computes off the line.
class LayerCursor {
 public:
  /// `frozen` has a flag a layer or is empty. All of them outlive the cursor.
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
  /// The positions of the sequence that it reads; 1 if that is none.
  int positions() const { return model_.is_sequence(static_cast<std::size_t>(reads().from)) ? input().height : 1; }
  /// The floats of an example there, from the first value to the last.
  std::size_t span() const;
  /// The shape that the last layer taken makes.
  Shape output() const { return model_.shapes()[next_]; }
  /// The floats from one example to the next in the signal that it makes.
  std::size_t output_stride() const;
  /// The tensors of the next layer.
  LayerTensors tensors() const;

  template <class Kind>
  const Kind* peek() const {
    return done() ? nullptr : std::get_if<Kind>(&layer());
  }
  /// Takes the next layer, which must be of that kind.
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
  int max_pieces() const { return max_pieces_; }  ///< the most pieces that the rows are cut into
  /// True if something that the next layer's values come from trains, which then needs the gradient of the layer's inputs.
  bool data_gradient() const {
    const auto [from, added] = reads();
    return needs_gradient_[static_cast<std::size_t>(from)] || (added >= 0 && needs_gradient_[static_cast<std::size_t>(added)]);
  }
  /// Notes that for the output of the last layer taken.
  void output_needs_gradient(bool needs) { needs_gradient_[next_] = needs; }

 private:
  const Model& model_;
  const std::vector<bool>& frozen_;
  int max_rows_;
  int max_pieces_;
  std::size_t next_ = 0;
  std::vector<bool> needs_gradient_;  ///< a flag a slot
};

// The concepts list the functions of a stage; nn/stage_plan.hpp asserts them, so a missing one does not compile. `Layer` is
// the kind of layer a stage begins with; if that has parameters, the stage must give their gradients, each example's norm
// and weighted sums. prepare_training allocates, once, the memory of every backward pass.

template <class S>
concept AnyStage = std::move_constructible<S> && std::constructible_from<S, LayerCursor&> && requires(S stage) {
  typename S::Layer;
  stage.prepare_training();
};

/// A stage that computes each example separately; a batch is cut by rows. Batch is null in evaluation, and backward is
/// called if this stage or one before it trains.
template <class S>
concept RowStage = AnyStage<S> && requires(S stage, const Signal& in, const Signal& out, RowRange range, const Batch* batch) {
  stage.forward(in, out, range, batch);
  stage.backward(in, out, range);
};

/// The parameters of any stage: begin(weights) before each step, whether they train, the number of stretches of their
/// gradient, and memory for the two backward passes.
template <class S>
concept StageWithParameters = AnyStage<S> && requires(S stage, const float* weights) {
  stage.begin(weights);
  { stage.trains() } -> std::same_as<bool>;
  { stage.stretches() } -> std::same_as<int>;
  stage.prepare_gradient();
  stage.prepare_per_example();
};

/// After backward for every row, gradient_piece reports the gradient of 0 ... gradient_pieces() - 1; row_pieces is the number
/// of ranges that backward was called for. backward_norms is backward, and adds to squared_norms[row] the squared norm of each
/// example's own gradient, if the stage trains; weighted_piece then reports the sum of those gradients times factors.
/// keeps_gradients says whether pieces read out.gradient again, after backward; it is asked once all is prepared.
template <class S>
concept RowStageWithParameters = RowStage<S> && StageWithParameters<S> &&
    requires(S stage, const Signal& in, const Signal& out, RowRange range, int piece, int rows, int row_pieces,
             double* squared_norms, std::span<const float> factors, const GradientTarget& target) {
  { stage.gradient_pieces() } -> std::same_as<int>;
  { stage.keeps_gradients() } -> std::same_as<bool>;
  stage.gradient_piece(piece, in, rows, row_pieces, target);
  stage.backward_norms(in, out, range, squared_norms);
  stage.weighted_piece(piece, in, factors, target);
};

/// A stage that reads its weights once for the whole batch and cuts itself into pieces, forwards and backwards. backward
/// is begin_backward, then every backward_piece. Norms are begin_norms, which adds to squared_norms where the stage trains,
/// then every data_piece where something before it trains. Weighted sums are begin_weighted, with `scratch_size()` floats
/// that it may use until the last weighted_piece, then every weighted_piece.
template <class S>
concept BatchStage = StageWithParameters<S> &&
    requires(S stage, const Signal& in, const Signal& out, int piece, int pieces, int rows, double* squared_norms,
             std::span<const float> factors, float* scratch, const GradientTarget& target) {
  { stage.forward_pieces(rows) } -> std::same_as<int>;
  stage.forward_piece(piece, pieces, in, out, rows);
  { stage.backward_pieces(rows) } -> std::same_as<int>;
  stage.begin_backward(out, rows, target);
  stage.backward_piece(piece, pieces, in, out, rows, target);
  stage.begin_norms(in, out, rows, squared_norms);
  stage.data_piece(piece, pieces, in, out, rows);
  { stage.scratch_size() } -> std::same_as<std::size_t>;
  stage.begin_weighted(out, factors, scratch, target);
  stage.weighted_piece(piece, pieces, in, target);
};

/// A stage may have a dense product before or behind it, as a stage of its own with tensors of the same layer: these functions
/// give its options (DenseStage::Options).
template <class S>
concept HasProductBefore = requires(const LayerCursor& layers) {
  S::product_before(layers);
};
template <class S>
concept HasProductAfter = requires(const LayerCursor& layers) {
  S::product_after(layers);
};

template <class S>
concept Stage = BatchStage<S> || RowStageWithParameters<S> ||
    (RowStage<S> && (!S::Layer::kHasParameters || (HasProductBefore<S> && HasProductAfter<S>)));

}  // namespace fedstride
