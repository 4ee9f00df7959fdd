#include "dp/accountants/tight.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dp/accountants/refusals.hpp"
#include "dp/accountants/tight_contour.hpp"
#include "dp/accountants/tight_schedule.hpp"

namespace fedstride {
namespace {

using tight::Composition;
using tight::Contour;
using tight::Pair;
using tight::Schedule;

// What the extra Gaussian release may add, see docs/privacy.md.
constexpr double kEpsilonExcess = 4e-5;
constexpr double kLogDeltaExcess = 7e-4;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Below this nobody asks how much below: Chernoff's bound stands there for the integral.
constexpr double kLogNoMatter = -150;

double log_delta_of(const Composition& composition, double epsilon) {
  double log_delta = 0;
  const double chernoff = tight::log_chernoff(composition, tight::crossing(composition, epsilon, 0).c, epsilon);
  if (chernoff < kLogNoMatter) return chernoff;
  for (int attempt = 0; attempt < 6; ++attempt) {
    const auto at = tight::crossing(composition, epsilon, log_delta);
    Contour contour(composition, at);
    contour.extend(epsilon, kLogDeltaExcess, kEpsilonExcess);
    log_delta = std::min(log_delta, contour.at(epsilon).log_delta);
    if (log_delta > at.log_delta - 1) break;  // else its aliases may not be small against it
  }
  return log_delta;
}

/// Smallest epsilon >= 0 whose bound on log delta is at most log_delta, from above, near `start`.
double solve(const Contour& contour, double log_delta, double start) {
  double low = -1;  // nothing is known of 0
  double high = kNoLimit;
  double at = start;
  const double close = 1e-9 * std::max(1.0, start);
  for (int i = 0; i < 100 && high - std::max(low, 0.0) > close; ++i) {
    const auto value = contour.at(at);
    (value.log_delta > log_delta ? low : high) = at;
    // Newton's step, and a little beyond the root, so that the last point is on its safe side.
    double next = at - (value.log_delta - log_delta) / value.slope + 0.4 * close;
    if (std::isfinite(high) && i % 3 == 2) next = (std::max(low, 0.0) + high) / 2;
    if (low < 0 && !(next > 0)) next = 0;
    if (!(next > low && next < high)) next = std::isinf(high) ? 2 * low + 1e-6 : (std::max(low, 0.0) + high) / 2;
    at = next;
  }
  return high;
}

double epsilon_of(const Composition& composition, double delta) {
  const double target = std::log(delta);
  double epsilon = tight::chernoff_epsilon(composition, delta);
  for (int attempt = 0; attempt < 30; ++attempt) {
    Contour contour(composition, tight::crossing(composition, epsilon, target));
    for (int i = 0; i < 20; ++i) {
      contour.extend(epsilon, kNoLimit, kEpsilonExcess);
      const double next = std::min(epsilon, solve(contour, target, epsilon));
      const bool settled = next > epsilon - kEpsilonExcess / 10 * std::max(1.0, epsilon);
      epsilon = next;
      if (settled) return epsilon;
      if (!contour.covers(epsilon)) break;
    }
  }
  return epsilon;
}

/// Whether the other direction is certainly no worse.
bool below(const Composition& composition, double epsilon, double log_delta) {
  if (composition.largest() <= epsilon) return true;
  return tight::log_chernoff(composition, tight::crossing(composition, epsilon, log_delta).c, epsilon) <= log_delta;
}

}  // namespace

std::string Tight::unsound(std::span<const Releases> spending) const {
  return uncovered(spending, {.poisson_replace_one = true});
}

PrivacyBound Tight::epsilon(std::span<const Releases> spending, double delta) const {
  check_sound(kName, spending, unsound(spending));
  check_delta(delta);
  const Schedule schedule(spending);
  if (schedule.empty() || schedule.total_variation() <= delta) return {};
  if (schedule.neighbours == Neighbours::replace_one) return {epsilon_of(schedule.composition(Pair::replace), delta)};
  const double removed = epsilon_of(schedule.composition(Pair::remove), delta);
  const auto adding = schedule.composition(Pair::add);
  if (below(adding, removed, std::log(delta))) return {removed};
  return {std::max(removed, epsilon_of(adding, delta))};
}

PrivacyBound Tight::delta(std::span<const Releases> spending, double epsilon) const {
  check_sound(kName, spending, unsound(spending));
  check_epsilon(epsilon);
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
