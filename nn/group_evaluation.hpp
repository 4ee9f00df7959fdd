#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/gradient.hpp"
#include "core/pool.hpp"
#include "data/batch.hpp"
#include "data/dataset.hpp"
#include "nn/network.hpp"
#include "nn/variation.hpp"

namespace fedstride {

/// The quality of a model on one group of examples.
struct GroupEvaluation {
  std::uint64_t examples = 0;
  std::uint64_t answers = 0;  ///< that count: examples, positions, flags, values
  std::uint64_t correct = 0;  ///< of them
  double loss = 0;            ///< the mean over examples; 0 without any
  double accuracy = 0;  ///< share of answers that are right; of values R^2, compared with the mean over all groups; 0 without any
  double variation = 0;  ///< of values, the loss of always answering that mean: R^2 is 1 - loss / variation
};

/// Evaluates models of one kind on groups of examples of one data set, a client's each, in blocks of one group. The result does
/// not depend on the threads. Only one caller at a time.
class GroupEvaluator {
 public:
  /// All must outlive the evaluator. `skews` are those of the groups' inputs, one a group; empty: none has any.
  GroupEvaluator(const Model& model, const Dataset& data, const std::vector<std::span<const Row>>& groups,
                 const std::vector<ClientSkew>& skews = {});

  /// Other groups, for the evaluations from now on.
  void regroup(const std::vector<std::span<const Row>>& groups, const std::vector<ClientSkew>& skews = {});

  std::vector<GroupEvaluation> evaluate(const Vector& weights, ForEachPiece for_each_piece = serially);

  /// confusion[actual][predicted] of the last evaluation, of all groups together; empty where the answers are no classes.
  const std::vector<std::vector<std::uint64_t>>& confusion() const { return confusion_; }

 private:
  struct Block {
    std::size_t group = 0;
    std::span<const Row> rows;
    ClientSkew skew;
  };
  const Model& model_;
  const Dataset& data_;
  std::size_t groups_ = 0;
  Variation variation_;
  std::vector<Block> blocks_;
  std::vector<std::vector<std::uint64_t>> confusion_;
  Pool<Network> networks_;
};

}  // namespace fedstride
