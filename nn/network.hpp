#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/gradient.hpp"
#include "data/batch.hpp"
#include "nn/model.hpp"

namespace fedstride {

/// A batch for a network; its inputs are the values written to the network's inputs(rows).
struct Batch {
  std::span<const Label> labels;       ///< one per example or position, depending on the model's form
  std::span<const Row> rows;           ///< the examples' row numbers, at which their dropout masks are drawn
  BatchAddress address;                ///< seed, round, client and step for drawing the masks
  std::span<const float> values = {};  ///< answers that are numbers or flags
  Answers answers() const { return {labels, values}; }
};

struct BatchLoss {
  double loss_sum = 0;  ///< summed over the examples; an example's loss is the mean over its answers (Targets)
  std::uint64_t correct =
      0;  ///< answers that the largest score (the lowest class on a tie) or the score's sign predicts correctly
  std::uint64_t counted = 0;  ///< answers: classes, positions that count, flags, values
  double sink_sum = 0;        ///< sum of the values returned by the gradient's sink, added in a fixed order
};

/// A model's workspace: activations and everything else that a step needs, allocated once (what only training needs, at the first
/// gradient). Only one thread at a time may use it, but other threads may help that thread with pieces of a step. How a step is
/// cut depends only on the model and the batch size, so helpers do not change the bits.
class Network {
 public:
  /// `frozen` has one flag per layer (Model::frozen) or is empty.
  Network(const Model& model, int max_rows, const std::vector<bool>& frozen = {});
  ~Network();
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;

  const Model& model() const;
  int max_rows() const;

  /// Room for the next batch's inputs: rows x input size, NHWC, normalized.
  std::span<float> inputs(int rows);

  /// Passes the mean gradient of the batch at `weights` (flat, in Model's layout) to the sink (core/gradient.hpp), with dropout
  /// active. Padding between parameters is not passed. Requires at least one example.
  BatchLoss gradient(const float* weights, const Batch& batch, GradientSink sink, ForEachPiece for_each_piece = serially);

  /// Adds the batches of the gradients since the last call, in order, to the running statistics of batch normalization in these
  /// weights; null: forgets them.
  void add_batches(float* weights);
  /// Drops these batches, before another client's training; cumulative averages begin anew.
  void forget_batches();

  /// The first half of a private step: one forward and one backward pass of the batch in training mode, up to the point where the
  /// L2 norm of each example's gradient over all trainable parameters is known. `norms` receives one value per example. It is
  /// never below the true norm of the example's term in weighted_sum with factor 1 and exceeds it at most by a factor of 1 +
  /// kNormMargin; it is NaN or infinite if the gradient is not finite. Requires at least one example.
  BatchLoss per_example(const float* weights, const Batch& batch, std::span<double> norms,
                        ForEachPiece for_each_piece = serially);
  static constexpr double kNormMargin = 1e-4;

  /// The second half: passes sum_i factors[i] x gradient of example i of the last per_example batch to the sink (a sum, not a
  /// mean), with zeros for frozen parameters; returns the sum of the sink's values. An example's term does not depend on the other
  /// examples, in any bit, and terms are added in double, one by one. An example with factor 0 contributes nothing, regardless of
  /// its values. Does not read the weights. May be called again with other factors.
  double weighted_sum(std::span<const float> factors, SumSink sink, ForEachPiece for_each_piece = serially);

  /// Evaluates the examples without dropout; `predicted`, if not empty, receives one class per example (Targets::classes), and
  /// `scores` the last layer's outputs, examples one after another.
  BatchLoss evaluate(const float* weights, const Answers& answers, std::span<Label> predicted = {},
                     ForEachPiece for_each_piece = serially, std::span<float> scores = {});

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace fedstride
