#include "dp/accountants/one_run_audit.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/accountants/score_fit.hpp"

namespace fedstride {
namespace {

void check_guesses(const Guesses& guesses, double delta, double significance) {
  if (guesses.canaries == 0 || guesses.canaries > 100'000'000)
    throw usage_error("canaries are " + std::to_string(guesses.canaries) + "; valid: 1 to 1e8");
  if (guesses.guesses > guesses.canaries || guesses.right > guesses.guesses)
    throw usage_error(std::to_string(guesses.right) + " right of " + std::to_string(guesses.guesses) + " guesses about " +
                      std::to_string(guesses.canaries) + " canaries; valid: right <= guesses <= canaries");
  if (!(delta >= 0) || !(delta < 1)) throw usage_error("delta is " + number_text(delta) + "; it must be at least 0 and below 1");
  if (!(significance > 0) || !(significance < 1))
    throw usage_error("significance is " + number_text(significance) + "; it must be between 0 and 1");
}

constexpr double kLeastMu = 1e-9;

double probit(double p) { return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * p); }

/// The largest value in [0, most] for which `holds` is true, rounded down; `holds` must be true up to some value and false beyond
/// it.
double largest_refuted(double most, const auto& holds) {
  if (!holds(0)) return 0;
  double low = 0, high = 1;
  while (high < most && holds(high)) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

/// True if, under mu-Gaussian-private training, guesses this good have a probability below `significance` (the recursion of
/// Mahloujifar, Melis & Chaudhuri 2024, Algorithm 3, for fair coins).
bool one_run_refutes(const Guesses& guesses, double mu, double significance) {
  check_guesses(guesses, 0, significance);
  const auto canaries = static_cast<double>(guesses.canaries);
  const auto all = static_cast<double>(guesses.guesses);
  double right = significance * static_cast<double>(guesses.right) / canaries;
  double wrong = significance * (all - static_cast<double>(guesses.right)) / canaries;
  for (std::uint64_t i = guesses.right; i-- > 0;) {
    // An event of probability `right` under one neighbor has probability at least `least` under the other.
    const double least = right > 0 ? normal_below(probit(std::min(right, 1.0)) - mu) : 0;
    const double next = std::max(wrong, least);
    right += static_cast<double>(i) / (all - static_cast<double>(i)) * (next - wrong);
    wrong = next;
    if (right + wrong > all / canaries) return true;
  }
  return right + wrong > all / canaries;
}

double refuted_mu(const Guesses& guesses, double significance) {
  return largest_refuted(100, [&](double mu) { return one_run_refutes(guesses, std::max(mu, kLeastMu), significance); });
}

double epsilon_of_mu(double mu, double delta) { return mu > 10 * kLeastMu ? gaussian_epsilon(mu, delta) * (1 - 1e-9) : 0; }

/// An upper bound on the probability of guesses this good if training is (epsilon, delta)-private (Steinke, Nasr & Jagielski
/// 2023, Theorem 5.2): beta + 2 m delta max_i (P[B >= v - i] - beta) / i, where B is binomial(r, e^eps / (1 + e^eps)), beta = P[B
/// >= v].
double one_run_p_value(const Guesses& guesses, double epsilon, double delta) {
  check_guesses(guesses, delta, 0.5);
  const auto r = static_cast<double>(guesses.guesses);
  const double log_right = -std::log1p(std::exp(-epsilon)), log_wrong = -epsilon + log_right;
  const auto v = static_cast<double>(guesses.right);
  const double start = std::lgamma(r + 1) - std::lgamma(v + 1) - std::lgamma(r - v + 1) + v * log_right + (r - v) * log_wrong;
  double beta = 0;
  double log = start;
  for (double right = v; right <= r; ++right) {
    const double chance = std::exp(log);
    beta += chance;
    if (chance < 1e-18 * beta && right > r * std::exp(log_right)) break;
    log += std::log((r - right) / (right + 1)) + epsilon;
  }
  constexpr double kRounding = 1e-9;
  beta *= 1 + kRounding;
  if (delta == 0 || guesses.right == 0) return std::min(beta, 1.0);
  double alpha = 0, more = 0;
  log = start;
  for (double i = 1; i <= v; ++i) {
    const double right = v - i;  // its probability follows from that of right + 1
    log += std::log((right + 1) / (r - right)) - epsilon;
    const double chance = std::exp(log);
    more += chance * (1 + kRounding);
    alpha = std::max(alpha, more / i);
    if (chance < 1e-18 * more && right < r * std::exp(log_right)) break;
  }
  return std::min(beta + 2 * static_cast<double>(guesses.canaries) * delta * alpha, 1.0);
}

}  // namespace

double one_run_epsilon(const Guesses& guesses, double delta, double significance) {
  check_guesses(guesses, delta, significance);
  return largest_refuted(200, [&](double epsilon) { return one_run_p_value(guesses, epsilon, delta) <= significance; });
}

double one_run_gaussian_epsilon(const Guesses& guesses, double delta, double significance) {
  check_guesses(guesses, delta, significance);
  check_delta(delta);
  return epsilon_of_mu(refuted_mu(guesses, significance), delta);
}

FittedAudit fitted_audit(std::span<const double> in, std::span<const double> out, double delta, double significance) {
  constexpr std::size_t kLeastScores = 10;
  check_guesses({in.size() + out.size(), 0, 0}, delta, significance);
  check_delta(delta);
  if (std::min(in.size(), out.size()) < kLeastScores)
    throw usage_error("a fit needs at least 10 scores of included canaries and 10 of canaries left out; there are " +
                      std::to_string(in.size()) + " and " + std::to_string(out.size()));
  double squares = 0;
  const auto mean_of = [&](std::span<const double> scores) {
    double sum = 0;
    for (const double score : scores) sum += score;
    const double mean = sum / static_cast<double>(scores.size());
    for (const double score : scores) squares += (score - mean) * (score - mean);
    return mean;
  };
  const double apart = mean_of(in) - mean_of(out);
  const auto present = static_cast<double>(in.size()), absent = static_cast<double>(out.size());
  const double freedom = present + absent - 2;
  if (!(squares > 0) || !std::isfinite(squares))
    throw usage_error("scores are constant within each group, or not all finite: there is no noise to fit");
  FittedAudit found{.mu = apart / std::sqrt(squares / freedom)};
  found.least_mu = std::max(0.0, least_in_deviations(found.mu, std::sqrt(1 / present + 1 / absent), freedom, significance));
  found.epsilon = epsilon_of_mu(found.least_mu, delta);
  return found;
}

ScoredAudit one_run_audit(std::span<const double> in, std::span<const double> out, double delta, double significance) {
  std::vector<double> present(in.begin(), in.end()), absent(out.begin(), out.end());
  for (const auto* scores : {&present, &absent})
    for (const double score : *scores)
      if (!std::isfinite(score)) throw usage_error("a score is not finite");
  if (present.empty() || absent.empty()) throw usage_error("an audit needs scores of included canaries and of canaries left out");
  std::ranges::sort(present, std::greater<>());
  std::ranges::sort(absent, std::greater<>());
  // Corners of the upper convex hull of the points (out, in), the numbers of scores at or above each threshold.
  using Corner = std::pair<std::int64_t, std::int64_t>;
  std::vector<Corner> hull{{0, 0}};
  const auto add = [&](Corner next) {
    while (hull.size() >= 2) {
      const Corner &a = hull[hull.size() - 2], &b = hull.back();
      if ((b.first - a.first) * (next.second - a.second) - (b.second - a.second) * (next.first - a.first) < 0) break;
      hull.pop_back();
    }
    hull.push_back(next);
  };
  std::size_t i = 0, j = 0;
  while (i < present.size() || j < absent.size()) {
    const double threshold = i == present.size() ? absent[j] : j == absent.size() ? present[i] : std::max(present[i], absent[j]);
    while (i < present.size() && present[i] >= threshold) ++i;
    while (j < absent.size() && absent[j] >= threshold) ++j;
    add({static_cast<std::int64_t>(j), static_cast<std::int64_t>(i)});
  }
  check_delta(delta);
  ScoredAudit found{.thresholds = hull.size()};
  double mu = 0;
  const double each = significance / static_cast<double>(hull.size());
  for (const auto& [wrong, right] : hull) {
    check_stop();
    if (right <= wrong) continue;
    const Guesses guesses{present.size() + absent.size(), static_cast<std::uint64_t>(right + wrong),
                          static_cast<std::uint64_t>(right)};
    // A threshold matters only if it beats the best so far.
    if (one_run_p_value(guesses, found.epsilon, delta) <= each)
      found.epsilon = std::max(found.epsilon, one_run_epsilon(guesses, delta, each));
    if (one_run_refutes(guesses, std::max(mu, kLeastMu), each)) mu = std::max(mu, refuted_mu(guesses, each));
  }
  found.gaussian_epsilon = epsilon_of_mu(mu, delta);
  return found;
}

}  // namespace fedstride
