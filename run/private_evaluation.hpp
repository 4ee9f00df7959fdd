#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "nn/evaluation.hpp"
#include "nn/group_evaluation.hpp"
#include "run/setup.hpp"

namespace fedstride {

/// Refuses `evaluate private` where it has no record to speak of, or nobody to add the noise. Throws Error (usage).
void check_private_evaluation(const Setup& setup);

/// Accuracy and loss on test rows that are protected, each a mean released with noise (evaluate private). Where examples are protected a
/// record is a row of the test part: right or wrong, and its loss clipped to the bound. Where clients are (with both, too) it is a
/// client: the mean of that over its own test rows, which one row more or less moves by no more than a record. The ledger has each release before
/// it is made (RunPrivacy::reserve), and one a round: asking again gives the same numbers.
class PrivateEvaluation {
 public:
  /// The setup must outlive it.
  explicit PrivateEvaluation(const Setup& setup);
  Evaluation evaluate(const Vector& model, std::uint32_t round, const RandomSource& source, ForEachPiece for_each_piece);

 private:
  const Setup& setup_;
  std::vector<Row> all_;                  ///< of the test part; empty where clients are the records
  std::vector<std::size_t> sizes_;        ///< the rows of each record
  std::unique_ptr<GroupEvaluator> rows_;  ///< record after record, each row a group
};

}  // namespace fedstride
