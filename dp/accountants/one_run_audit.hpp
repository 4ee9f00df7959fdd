#pragma once

#include <cstdint>
#include <span>

namespace fedstride {

/// An audit in one run: `canaries` records were each included or left out by a fair coin; of `guesses` about some of them,
/// `right` were correct.
struct Guesses {
  std::uint64_t canaries = 0;
  std::uint64_t guesses = 0;
  std::uint64_t right = 0;
};

/// An upper bound on the probability of guesses this good if training is (epsilon, delta)-private (Steinke, Nasr & Jagielski
/// 2023, Theorem 5.2): beta + 2 m delta max_i (P[B >= v - i] - beta) / i, where B is binomial(r, e^eps / (1 + e^eps)), beta = P[B
/// >= v].
double one_run_p_value(const Guesses& guesses, double epsilon, double delta);
/// The largest epsilon that the p-value refutes at `significance`, a lower bound with confidence 1 - significance; 0 if none.
double one_run_epsilon(const Guesses& guesses, double delta, double significance);

/// True if, under mu-Gaussian-private training, guesses this good have a probability below `significance` (the recursion of
/// Mahloujifar, Melis & Chaudhuri 2024, Algorithm 3, for fair coins).
bool one_run_refutes(const Guesses& guesses, double mu, double significance);
/// The epsilon of the largest refuted mu for a given `delta`: a lower bound for mechanisms with a Gaussian trade-off curve.
double one_run_gaussian_epsilon(const Guesses& guesses, double delta, double significance);

/// Both bounds, from the canaries' scores (higher: more likely in): the best over thresholds at the corners of the ROC curve's
/// convex hull, each tested at significance / number of corners (Bonferroni), since the same scores choose the threshold.
struct ScoredAudit {
  double epsilon = 0;           ///< by one_run_epsilon
  double gaussian_epsilon = 0;  ///< by one_run_gaussian_epsilon
  std::uint64_t thresholds = 0;
};
ScoredAudit one_run_audit(std::span<const double> in, std::span<const double> out, double delta, double significance);

/// A Gaussian fit to scores, each a noisy release's component in one known direction: mu, the distance between the means in
/// (pooled) deviations; its lower confidence bound (Student's t and chi-squared, half of the significance each); and the epsilon
/// of that bound for a given `delta`. Detects halved noise with a few hundred canaries, where the bounds above do not; valid only
/// if scores are Gaussian, as in a white-box audit of Gaussian noise (Andrew et al. 2023). Throws Error (usage) with fewer than
/// 10 scores of either kind.
struct FittedAudit {
  double mu = 0;
  double least_mu = 0;
  double epsilon = 0;
};
FittedAudit fitted_audit(std::span<const double> in, std::span<const double> out, double delta, double significance);

}  // namespace fedstride
