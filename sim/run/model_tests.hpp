#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "nn/evaluator.hpp"
#include "server/fleet.hpp"
#include "sim/fleet/threads.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/results.hpp"

namespace fedstride {

// The setup must outlive all of these evaluators.

/// An evaluator of a run's model on these examples. EvaluatedOn::validation requires validation rows.
std::unique_ptr<Evaluator> make_evaluator(const Setup& setup, EvaluatedOn examples);
/// An evaluator of models on each client's test rows, one group per client.
GroupEvaluator client_evaluator(const Setup& setup);

/// Accuracy and loss on protected test rows, each a mean released with noise (evaluate private). At example level, a record is a
/// row of the test part: whether it is correct, and its loss clipped to the bound. At client level (and with both), a record is a
/// client: the mean over its test rows, which adding or removing one row changes no more than a whole record would. Each release
/// is in the ledger before it is made (RunPrivacy::reserve). There is one per round; repeating it yields the same numbers.
class PrivateEvaluation {
 public:
  explicit PrivateEvaluation(const Setup& setup);
  Evaluation evaluate(const Vector& model, std::uint32_t round, const RandomSource& source, ForEachPiece for_each_piece);

 private:
  const Setup& setup_;
  std::vector<Row> all_;                  ///< rows of the test part; empty if clients are the records
  std::vector<std::size_t> sizes_;        ///< the number of rows in each record
  std::unique_ptr<GroupEvaluator> rows_;  ///< rows in order of records, one group per row
};

/// Test images outside the target class, with the backdoor trigger, labeled as its target class.
class BackdoorTest {
 public:
  explicit BackdoorTest(const Setup& setup);
  /// The share of these images that a model classifies as the target.
  double success(const Vector& model, ForEachPiece for_each_piece) { return evaluator_.evaluate(model, for_each_piece).accuracy; }

 private:
  Dataset data_;
  Evaluator evaluator_;
};

/// All the tests of a run's models.
class ModelTests {
 public:
  /// The arguments must outlive this object.
  ModelTests(const Setup& setup, Threads& threads, Fleet& fleet);

  /// Adds the evaluation of a round's model to its record; adds nothing if it cannot be evaluated here.
  void test(const Vector& model, RoundRecord& record);

  /// Evaluates the model after `round` and adds the time to `seconds`; returns nothing, and adds no time, if the model cannot be
  /// evaluated here. A private evaluation must already be in the ledger.
  std::optional<Evaluation> evaluate(const Vector& model, std::uint32_t round, EvaluatedOn examples, double& seconds);
  /// True if the evaluation depends on public rows only, or is an accounted release.
  bool is_covered(const Evaluation& test) const;
  bool is_private() const { return private_.has_value(); }

 private:
  Evaluator& evaluator_of(EvaluatedOn examples);

  const Setup& setup_;
  Threads& threads_;
  Fleet& fleet_;
  std::map<EvaluatedOn, std::unique_ptr<Evaluator>> evaluators_;
  std::optional<PrivateEvaluation> private_;
  std::optional<GroupEvaluator> clients_;
  std::optional<BackdoorTest> backdoor_;
};

}  // namespace fedstride
