#include "dp/accountants/as_in_paper.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "dp/accountants/composition.hpp"
#include "dp/accountants/rdp_orders.hpp"
#include "dp/accountants/refusals.hpp"

namespace fedstride {
namespace {

double total_count(const Spending& kinds) {
  double count = 0;
  for (const Releases& releases : kinds) count += static_cast<double>(releases.count);
  return count;
}

std::string rounded(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

}  // namespace

double abadi_heuristic(std::span<const Releases> spending, double delta) {
  const Spending kinds = merged(spending);
  const double step_delta = delta / 2 / total_count(kinds);
  double square = 0;
  for (const Releases& releases : kinds) {
    const double own_delta = std::min(step_delta / releases.rate, 0.5);
    const double epsilon = releases.rate * std::sqrt(2 * std::log(1.25 / own_delta)) / releases.noise_multiplier;
    square += static_cast<double>(releases.count) * epsilon * epsilon;
  }
  return std::sqrt(2 * std::log(2 / delta) * square) + square;
}

double abadi_valid(std::span<const Releases> spending, double delta) {
  const Spending kinds = merged(spending);
  if (kinds.empty()) return 0;
  return advanced_composition(approximate_steps(kinds, delta / 2 / total_count(kinds)), delta / 2);
}

std::string AsInPaper::unsound(std::span<const Releases> spending) const {
  for (const Releases& releases : spending)
    if (releases.neighbours == Neighbours::replace_one)
      return "the paper's formula is for add-remove neighbours; valid: tight, rdp, strong, basic";
  return uncovered(spending, {});
}

PrivacyBound AsInPaper::epsilon(std::span<const Releases> spending, double delta) const {
  check_sound(kName, spending, unsound(spending));
  check_delta(delta);
  const Spending kinds = merged(spending);
  if (kinds.empty()) return {};
  const double heuristic = abadi_heuristic(kinds, delta);
  return {heuristic, "a heuristic of Abadi et al. (2016), not a valid bound: the same composition with proven steps gives " +
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
          "a heuristic of Abadi et al. (2016), not a valid bound: the same composition with proven steps gives " +
              rounded(valid)};
}

}  // namespace fedstride
