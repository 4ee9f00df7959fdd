#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/gradient.hpp"
#include "core/pool.hpp"
#include "data/batch.hpp"
#include "data/dataset.hpp"
#include "nn/evaluation.hpp"
#include "nn/metrics.hpp"
#include "nn/network.hpp"

namespace fedstride {

/// The squared error of always predicting the mean of some examples' values: the baseline of R^2. It exists only for targets that
/// are values.
class Variation {
 public:
  Variation() = default;
  /// Uses the means of these rows. The data must outlive this object.
  Variation(const Dataset& data, std::span<const Row> rows);

  bool exists() const { return !means_.empty(); }
  /// The sum over rows of the mean squared error over each row's values, as in the loss.
  double of(std::span<const Row> rows) const;

 private:
  const Dataset* data_ = nullptr;
  std::vector<double> means_;
};

/// Rows of one client, with its skew, to evaluate at once: at most kMaxEvaluated.
struct EvaluatedRows {
  std::span<const Row> rows;
  ClientSkew skew = {};
  std::size_t group = 0;  ///< index of the rows' group; only for GroupEvaluator
};
inline constexpr std::size_t kMaxEvaluated = 100;

/// The results of some of an evaluation's blocks.
struct EvaluatedBlocks {
  std::vector<double> losses;      ///< the sum over each block, in order
  std::vector<double> variations;  ///< for values: each block's loss when always predicting the mean
  std::uint64_t examples = 0;
  std::uint64_t answers = 0;
  std::uint64_t correct = 0;                       ///< correct answers
  std::vector<std::uint64_t> class_examples = {};  ///< as in Evaluation
  std::vector<std::uint64_t> class_correct;
};

/// Joins the parts' blocks, in order, into one evaluation; the bits are the same for any split.
Evaluation joined_blocks(std::span<const EvaluatedBlocks> parts);

/// Evaluates a model's weights on one data set, in blocks of kMaxEvaluated rows that any thread may take; the result does not
/// depend on the threads. R^2 of values is 1 - loss / the loss of always predicting the mean of all evaluated examples. Allows
/// only one caller at a time.
class Evaluator {
 public:
  /// Model, data and the skew's part must outlive the evaluator. `rows` are the examples to evaluate; empty: all.
  Evaluator(const Model& model, const Dataset& data, std::vector<Row> rows = {}, const ClientSkew& skew = {});

  Evaluation evaluate(const Vector& weights, ForEachPiece for_each_piece = serially);

  /// The model's scores of the rows, one after another: of each class, value or flag.
  std::vector<float> scores(const Vector& weights, ForEachPiece for_each_piece = serially);

  /// The metrics of these scores; empty if some are infinite or NaN, and for positions, each of which has scores of a whole
  /// vocabulary.
  Metrics metrics(const Vector& weights, ForEachPiece for_each_piece = serially);

  /// For several processes that evaluate together: blocks() returns the number of blocks, evaluate_blocks() evaluates [first,
  /// last).
  std::size_t blocks() const { return (rows_.size() + kMaxEvaluated - 1) / kMaxEvaluated; }
  EvaluatedBlocks evaluate_blocks(const Vector& weights, std::size_t first, std::size_t last,
                                  ForEachPiece for_each_piece = serially);

 private:
  const Model& model_;
  const Dataset& data_;
  std::vector<EvaluatedRows> blocks_of(std::size_t first, std::size_t last) const;

  std::vector<Row> rows_;
  ClientSkew skew_;
  Variation variation_;
  Pool<Network> networks_;  ///< one for each thread that has worked on a block
};

/// Evaluates a model's weights on groups of examples of one data set, one group per client; a block has rows of only one group.
/// The result does not depend on the threads. Allows only one caller at a time.
class GroupEvaluator {
 public:
  /// All arguments must outlive the evaluator. `skews` apply to the groups' inputs, one per group; empty: none.
  GroupEvaluator(const Model& model, const Dataset& data, const std::vector<std::span<const Row>>& groups,
                 const std::vector<ClientSkew>& skews = {});

  /// Replaces the groups for later evaluations.
  void regroup(const std::vector<std::span<const Row>>& groups, const std::vector<ClientSkew>& skews = {});

  std::vector<GroupEvaluation> evaluate(const Vector& weights, ForEachPiece for_each_piece = serially);

 private:
  const Model& model_;
  const Dataset& data_;
  std::size_t groups_ = 0;
  Variation variation_;
  std::vector<EvaluatedRows> blocks_;
  Pool<Network> networks_;
};

}  // namespace fedstride
