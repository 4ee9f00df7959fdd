#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/gradient.hpp"
#include "core/pool.hpp"
#include "data/batch.hpp"
#include "data/dataset.hpp"
#include "nn/network.hpp"
#include "nn/variation.hpp"

namespace fedstride {

/// The quality of a model on a data set.
struct Evaluation {
  std::uint64_t examples = 0;
  std::string_view metric = "accuracy";       ///< the name of `accuracy`: of values "R2"
  double loss = 0;                            ///< the mean over examples
  double accuracy = 0;                        ///< share of answers that are right; of values R^2 (Evaluator)
  std::vector<std::uint64_t> class_examples;  ///< examples of each class; empty where the answers are no classes
  std::vector<std::uint64_t> class_correct;   ///< those of them classified right
  bool is_told = false;                       ///< by code or a client outside: nobody here knows of which examples

  /// A loss and an accuracy that nobody has measured: NaN.
  static Evaluation unknown();

  /// Accuracy on examples mixed like `label_counts` (a count a class): the class accuracies, weighted. Classes that this
  /// data set lacks are left out; 0 if none is left.
  double accuracy_on(std::span<const std::uint64_t> label_counts) const;
};

/// The outcome of some of an evaluation's blocks.
struct EvaluatedBlocks {
  std::vector<double> losses;      ///< the sum of each block, in order
  std::vector<double> variations;  ///< of values: of each block, the loss of always answering the mean
  std::uint64_t examples = 0;
  std::uint64_t answers = 0;
  std::uint64_t correct = 0;                  ///< answers that are right
  std::vector<std::uint64_t> class_examples;  ///< as in Evaluation
  std::vector<std::uint64_t> class_correct;
};

/// The evaluation whose blocks, in order, are those of the parts: the same bits however they were cut.
Evaluation joined_blocks(std::span<const EvaluatedBlocks> parts);

/// Evaluates models of one kind on one data set, in blocks of kBlock rows that any threads may take; the result does not
/// depend on the threads. R^2 of values is 1 - loss / the loss of always answering the mean of all examples evaluated.
/// Only one caller at a time.
class Evaluator {
 public:
  static constexpr int kBlock = 100;

  /// Both must outlive the evaluator, so must the skew's part. `rows` are the examples to evaluate; empty: all.
  Evaluator(const Model& model, const Dataset& data, std::vector<Row> rows = {}, const ClientSkew& skew = {});

  Evaluation evaluate(const Vector& weights, ForEachPiece for_each_piece = serially);

  /// The blocks [first, last) of blocks(), for several processes that evaluate together.
  std::size_t blocks() const { return (rows_.size() + kBlock - 1) / kBlock; }
  EvaluatedBlocks evaluate_blocks(const Vector& weights, std::size_t first, std::size_t last,
                                  ForEachPiece for_each_piece = serially);

 private:
  const Model& model_;
  const Dataset& data_;
  std::vector<Row> rows_;
  ClientSkew skew_;
  Variation variation_;
  Pool<Network> networks_;  ///< one for each thread that ever worked on a block
};

}  // namespace fedstride
