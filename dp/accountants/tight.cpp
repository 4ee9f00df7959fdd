#include "dp/accountants/tight.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "dp/accountants/tight_contour.hpp"
#include "dp/accountants/tight_schedule.hpp"

namespace fedstride {
namespace {

using tight::Composition;
using tight::Contour;
using tight::Pair;
using tight::Schedule;

// What the extra Gaussian release may add, see docs/privacy.md.
constexpr double kEpsilonExcess = 2e-5;
constexpr double kLogDeltaExcess = 3e-4;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

double log_delta_of(const Composition& composition, double epsilon) {
  const double c = tight::crossing_for_epsilon(composition, epsilon);
  Contour contour(composition, c, epsilon);
  contour.extend(epsilon, kLogDeltaExcess, kEpsilonExcess);
  return contour.at(epsilon).log_delta;
}

/// Smallest epsilon >= 0 whose bound on log delta is at most log_delta, from above, near `start`.
double solve(const Contour& contour, double log_delta, double start) {
  double low = 0;
  double high = kNoLimit;
  double at = start;
  const double close = 1e-9 * std::max(1.0, start);
  for (int i = 0; i < 100 && high - low > close; ++i) {
    const auto value = contour.at(at);
    (value.log_delta > log_delta ? low : high) = at;
    if (high == 0) break;
    double next = at - (value.log_delta - log_delta) / value.slope;
    // Aim a little beyond the root, so that the last point is on its safe side.
    next += 0.5 * close;
    if (!(next > low && next < high)) next = std::isinf(high) ? (low == 0 ? 1e-6 : 2 * low) : (low + high) / 2;
    if (std::isfinite(high) && low == 0 && at - (value.log_delta - log_delta) / value.slope <= 0) next = 0;
    at = next;
  }
  return high;
}

double epsilon_of(const Composition& composition, double delta) {
  const double target = std::log(delta);
  double c = tight::crossing_for_delta(composition, delta);
  double epsilon = std::max(0.0, composition.moments(c).mean - 1 / c - 1 / (c + 1));
  if (epsilon == 0) c = tight::crossing_for_epsilon(composition, 0);
  for (int attempt = 0; attempt < 4; ++attempt) {
    Contour contour(composition, c, epsilon);
    contour.extend(epsilon, kNoLimit, kEpsilonExcess);
    epsilon = solve(contour, target, epsilon);
    if (contour.covers(epsilon)) {
      contour.extend(epsilon, kNoLimit, kEpsilonExcess);
      return solve(contour, target, epsilon);
    }
    c = tight::crossing_for_epsilon(composition, epsilon);
  }
  return epsilon;
}

/// Whether the other direction is certainly no worse.
bool below(const Composition& composition, double epsilon, double log_delta) {
  if (composition.largest() <= epsilon) return true;
  const double c = tight::crossing_for_epsilon(composition, epsilon);
  return tight::log_chernoff(composition, c, epsilon) <= log_delta;
}

}  // namespace

std::string Tight::unsound(std::span<const Releases> spending) const {
  const Releases* first = nullptr;
  for (const auto& releases : spending) {
    if (releases.count == 0) continue;
    if (first == nullptr) first = &releases;
    if (releases.adaptive)
      return "noise or rate were chosen after looking at earlier outputs; valid: rdp or zcdp, as a filter";
    if (releases.sampling == Sampling::without_replacement)
      return "no loss distribution is known for sampling without replacement; valid: rdp";
    if (releases.neighbours != first->neighbours)
      return "add-remove and replace-one releases are mixed; valid: one kind of neighbours";
  }
  return {};
}

PrivacyBound Tight::epsilon(std::span<const Releases> spending, double delta) const {
  check_spending(spending);
  check_delta(delta);
  if (auto reason = unsound(spending); !reason.empty()) throw usage_error("accountant tight: " + reason);
  const Schedule schedule(spending);
  if (schedule.empty() || schedule.total_variation() <= delta) return {};
  if (schedule.neighbours == Neighbours::replace_one) return {epsilon_of(schedule.composition(Pair::replace), delta)};
  const double removed = epsilon_of(schedule.composition(Pair::remove), delta);
  const auto adding = schedule.composition(Pair::add);
  if (below(adding, removed, std::log(delta))) return {removed};
  return {std::max(removed, epsilon_of(adding, delta))};
}

PrivacyBound Tight::delta(std::span<const Releases> spending, double epsilon) const {
  check_spending(spending);
  check_epsilon(epsilon);
  if (auto reason = unsound(spending); !reason.empty()) throw usage_error("accountant tight: " + reason);
  const Schedule schedule(spending);
  if (schedule.empty()) return {};
  double log_delta = 0;
  if (schedule.neighbours == Neighbours::replace_one) {
    log_delta = log_delta_of(schedule.composition(Pair::replace), epsilon);
  } else {
    log_delta = log_delta_of(schedule.composition(Pair::remove), epsilon);
    const auto adding = schedule.composition(Pair::add);
    if (!below(adding, epsilon, log_delta)) log_delta = std::max(log_delta, log_delta_of(adding, epsilon));
  }
  const double bound = std::max(std::exp(log_delta), std::numeric_limits<double>::min());
  return {std::min(bound, schedule.total_variation())};
}

}  // namespace fedstride
