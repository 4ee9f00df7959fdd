#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/client_report.hpp"
#include "data/dataset.hpp"

namespace fedstride {

/// Predictions of one class (or flag) against all others.
struct ClassMetrics {
  std::uint64_t examples = 0;  ///< that are of the class
  double recall = 0;           ///< share of them that are predicted; 0 if there are none
  double precision = 0;        ///< share of the predicted ones that are of the class; 0 if there are none
  double f1 = 0;               ///< 2 correct / (examples + predicted); 0 if there are neither
  double auc = std::numeric_limits<double>::quiet_NaN();  ///< area under the ROC curve; NaN unless some are and some are not
};

/// What predictions are worth, each number as scikit-learn 1.2 defines it.
struct Metrics {
  /// Classes: accuracy, balanced_accuracy (mean recall of the classes that occur), macro_f1 (mean over classes that occur or are
  /// predicted), auc (of two classes that of the second; of more, the mean of one against the rest over classes that have one) and
  /// log_loss (nats). Flags: accuracy, macro_f1, auc (means over flags). Values: r2 (weighted by variance), mae, mse.
  std::vector<NamedNumber> numbers = {};
  std::vector<ClassMetrics> classes = {};                  ///< or flags; empty for values
  std::vector<std::vector<std::uint64_t>> confusion = {};  ///< of classes: [actual][predicted]
};

/// The probabilities of an example's classes (softmax), or of its flags (logistic function); values as they are.
std::vector<double> probabilities(Targets targets, std::span<const float> scores);

/// The metrics of these rows' scores (Evaluator::scores), which follow one another. Empty without rows, and for positions.
Metrics metrics_of(const Dataset& data, std::span<const Row> rows, std::span<const float> scores);

}  // namespace fedstride
