#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fedstride {

/// 1 - loss / variation; 0 if nothing varies.
constexpr double r_squared(double loss, double variation) { return variation > 0 ? 1 - loss / variation : 0; }

/// The quality of a model on a data set.
struct Evaluation {
  std::uint64_t examples = 0;
  std::string_view metric = "accuracy";            ///< the name of `accuracy`; "R2" for values
  double loss = 0;                                 ///< the mean over examples
  double accuracy = 0;                             ///< share of correct answers; for values R^2 (Evaluator)
  std::vector<std::uint64_t> class_examples = {};  ///< examples per class; empty unless the targets are classes
  std::vector<std::uint64_t> class_correct = {};   ///< correctly classified examples per class
  bool is_told = false;                            ///< reported by outside code or an outside client, on examples unknown here

  /// A loss and an accuracy that were not measured: NaN.
  static Evaluation unknown();

  /// The accuracy on examples with the class mix of `label_counts` (one count per class): the mean of the class accuracies,
  /// weighted by the counts. Classes missing from this data set are omitted; 0 if none is left.
  double accuracy_on(std::span<const std::uint64_t> label_counts) const;
};

/// The quality of a model on one group of examples.
struct GroupEvaluation {
  std::uint64_t examples = 0;
  std::uint64_t answers = 0;  ///< counted answers: examples, positions, flags, values
  std::uint64_t correct = 0;  ///< correct answers among them
  double loss = 0;            ///< the mean over examples; 0 if none
  double accuracy = 0;        ///< share of correct answers; for values R^2 against the mean over all groups; 0 if none
  double variation = 0;       ///< for values, the loss of always predicting that mean: R^2 is 1 - loss / variation
};

}  // namespace fedstride
