#include "dp/accountants/as_in_paper.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "dp/accountants/composition.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/accountants/rdp_orders.hpp"
#include "dp/accountants/refusals.hpp"

namespace fedstride {
namespace {

/// The share of delta of each step.
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

std::string rounded(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

}  // namespace

double abadi_heuristic(std::span<const Releases> spending, double delta) {
  double square = 0;
  for (const auto& [releases, epsilon] : paper_steps(spending, delta)) {
    const double amplified = releases.rate * epsilon;
    square += static_cast<double>(releases.count) * amplified * amplified;
  }
  return std::sqrt(2 * std::log(2 / delta) * square) + square;
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
  if (std::string reason = uncovered(spending, {}); !reason.empty()) return reason;
  for (const Releases& releases : spending)
    if (releases.neighbours == Neighbours::replace_one)
      return "the paper's formula is for add-remove neighbours; valid: tight, rdp, strong, basic";
  return {};
}

PrivacyBound AsInPaper::epsilon(std::span<const Releases> spending, double delta) const {
  check_sound(kName, spending, unsound(spending));
  check_delta(delta);
  const Spending kinds = merged(spending);
  if (kinds.empty()) return {};
  const double heuristic = abadi_heuristic(kinds, delta);
  return {heuristic,
          "a heuristic of Abadi et al. (2016), not a valid bound: the same composition with proven amplification gives " +
              rounded(abadi_valid(kinds, delta))};
}

PrivacyBound AsInPaper::delta(std::span<const Releases> spending, double epsilon) const {
  check_sound(kName, spending, unsound(spending));
  check_epsilon(epsilon);
  const Spending kinds = merged(spending);
  if (kinds.empty()) return {};
  const double heuristic = smallest_delta([&](double delta) { return abadi_heuristic(kinds, delta); }, epsilon);
  const double valid = smallest_delta([&](double delta) { return abadi_valid(kinds, delta); }, epsilon);
  return {heuristic,
          "a heuristic of Abadi et al. (2016), not a valid bound: the same composition with proven amplification gives " +
              rounded(valid)};
}

}  // namespace fedstride
