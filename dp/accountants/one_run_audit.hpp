#pragma once

#include <cstdint>
#include <span>

namespace fedstride {

/// An audit in one training run: `canaries` records were each included or left out by a fair coin; of `guesses` about some of
/// them, `right` were correct.
struct Guesses {
  std::uint64_t canaries = 0;
  std::uint64_t guesses = 0;
  std::uint64_t right = 0;
};

/// The largest epsilon that the p-value refutes at `significance`, a lower bound with confidence 1 - significance; 0 if it
/// refutes none.
double one_run_epsilon(const Guesses& guesses, double delta, double significance);

/// The epsilon, for a given `delta`, of the largest refuted mu: a lower bound for mechanisms with a Gaussian trade-off curve.
double one_run_gaussian_epsilon(const Guesses& guesses, double delta, double significance);

/// Both bounds from the canaries' scores, where a higher score means more likely included. Each bound is the best over the
/// thresholds at the corners of the ROC curve's convex hull. Since the same scores choose the threshold, each threshold is tested
/// at significance / number of corners (Bonferroni).
struct ScoredAudit {
  double epsilon = 0;           ///< by one_run_epsilon
  double gaussian_epsilon = 0;  ///< by one_run_gaussian_epsilon
  std::uint64_t thresholds = 0;
};
ScoredAudit one_run_audit(std::span<const double> in, std::span<const double> out, double delta, double significance);

/// A Gaussian fit to scores, each a noisy release's component in one known direction. `mu` is the distance between the two means
/// in (pooled) standard deviations, `least_mu` is its lower confidence bound (Student's t and chi-squared, half of the
/// significance each), and `epsilon` is that of least_mu for a given `delta`. Detects halved noise with a few hundred canaries,
/// where the bounds above do not; valid only if scores are Gaussian, as in a white-box audit of Gaussian noise (Andrew et al.
/// 2023). Throws Error (usage) if `in` or `out` has fewer than 10 scores.
struct FittedAudit {
  double mu = 0;
  double least_mu = 0;
  double epsilon = 0;
};
FittedAudit fitted_audit(std::span<const double> in, std::span<const double> out, double delta, double significance);

}  // namespace fedstride
