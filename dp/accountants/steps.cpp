#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <cstdio>

#include "dp/accountants/accountants.hpp"
#include "dp/accountants/composition.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/accountants/spending.hpp"

// The accountants that compose (epsilon, delta) steps.

namespace fedstride {
namespace {

// Above this count, the binomials of the optimal composition take too long; the other compositions are then within 1 % of it.
constexpr std::uint64_t kMaxOptimalCount = 100'000;

double total_count(const Spending& kinds) {
  double count = 0;
  for (const Releases& releases : kinds) count += static_cast<double>(releases.count);
  return count;
}

/// The delta of each step if all steps share half of `delta` equally.
double step_delta(std::span<const Releases> spending, double delta) {
  double count = 0;
  for (const Releases& releases : merged(spending)) count += static_cast<double>(releases.count);
  return delta / 2 / count;
}

struct PaperStep {
  Releases releases;
  double epsilon = 0;  ///< before amplification
};

std::vector<PaperStep> paper_steps(std::span<const Releases> spending, double delta) {
  std::vector<PaperStep> steps;
  for (const Releases& releases : merged(spending)) {
    const double own_delta = std::min(step_delta(spending, delta) / releases.rate, 0.5);
    steps.push_back({releases, std::sqrt(2 * std::log(1.25 / own_delta)) / releases.noise_multiplier});
  }
  return steps;
}

double abadi_heuristic(std::span<const Releases> spending, double delta) {
  double square = 0;
  for (const auto& [releases, epsilon] : paper_steps(spending, delta)) {
    const double amplified = releases.rate * epsilon;
    square += static_cast<double>(releases.count) * amplified * amplified;
  }
  return std::sqrt(2 * std::log(2 / delta) * square) + square;
}

/// Returns the heuristic value with a warning that states the valid bound.
PrivacyBound with_valid(double heuristic, double valid) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", valid);
  return {heuristic, std::string("a heuristic of Abadi et al. (2016), not a valid bound: the same composition with proven "
                                 "amplification gives ") +
                         text};
}

}  // namespace

double Basic::composed(const Spending& kinds, double delta) {
  return kinds.empty() ? 0 : basic_composition(approximate_steps(kinds, delta / total_count(kinds)));
}

double Strong::composed(const Spending& kinds, double delta) {
  if (kinds.empty()) return 0;
  const double count = total_count(kinds);
  const auto with_share = [&](double logit) {  // logit of the steps' share of delta; the rest is for composing
    const double share = 1 / (1 + std::exp(-logit));
    const auto steps = approximate_steps(kinds, share * delta / count);
    const double slack = (1 - share) * delta;
    double least = std::min(basic_composition(steps), heterogeneous_composition(steps, slack));
    if (steps.size() == 1 && steps[0].count <= kMaxOptimalCount)
      least = std::min(least, optimal_composition(steps[0].epsilon, steps[0].count, slack));
    return least;
  };
  std::uintmax_t rounds = 100;
  const double found = boost::math::tools::brent_find_minima(with_share, -8.0, 8.0, 16, rounds).second;
  return std::min(found, basic_composition(approximate_steps(kinds, delta / count)));
}

double abadi_valid(std::span<const Releases> spending, double delta) {
  std::vector<ApproximateSteps> steps;
  for (const auto& [releases, epsilon] : paper_steps(spending, delta)) {
    const double own_delta = step_delta(spending, delta) / releases.rate;
    const double exact = gaussian_epsilon(1 / releases.noise_multiplier, std::min(own_delta, 0.5));
    const double amplified = amplified_epsilon(std::max(epsilon, exact), releases.rate);
    steps.push_back({amplified, step_delta(spending, delta), releases.count});
  }
  return steps.empty() ? 0 : advanced_composition(steps, delta / 2);
}

std::string AsInPaper::unsound(std::span<const Releases> spending) const {
  if (std::string reason = AccountantPart::unsound(spending); !reason.empty()) return reason;
  for (const Releases& releases : spending)
    if (releases.neighbours == Neighbours::replace_one)
      return "the paper's formula does not cover replace-one neighbours; valid: tight, rdp";
  return {};
}

PrivacyBound AsInPaper::least_epsilon(std::span<const Releases> spending, double delta) const {
  const Spending kinds = merged(spending);
  return kinds.empty() ? PrivacyBound{} : with_valid(abadi_heuristic(kinds, delta), abadi_valid(kinds, delta));
}

PrivacyBound AsInPaper::least_delta(std::span<const Releases> spending, double epsilon) const {
  const Spending kinds = merged(spending);
  if (kinds.empty()) return {};
  return with_valid(smallest_delta([&](double delta) { return abadi_heuristic(kinds, delta); }, epsilon),
                    smallest_delta([&](double delta) { return abadi_valid(kinds, delta); }, epsilon));
}

}  // namespace fedstride
