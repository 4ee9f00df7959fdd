#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "dp/accountants/accountants.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/accountants/tight.hpp"
#include "dp/accountants/user_mixture.hpp"

namespace fedstride {
namespace {

using tight::Composition;
using tight::Contour;
using tight::Pair;
using tight::Schedule;

// The most that a contour's extra Gaussian release may add to epsilon and to log delta; see docs/privacy-tight.md.
constexpr double kEpsilonExcess = 4e-5;
constexpr double kEpsilonEnough = 8e-5;  // accepted if a smaller excess would take too much work
constexpr double kEpsilonShare = 1e-2;   // limit relative to epsilon, used where it is smaller
constexpr double kMinEpsilon = 1e-10;
constexpr double kSmallEpsilon = 1e-2;  // up to here, the bound on delta sharpens the bound on epsilon
constexpr double kLogDeltaExcess = 7e-4;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Below this log delta, the exact value does not matter: Chernoff's bound replaces the integral.
constexpr double kLogNoMatter = -150;

// Limits on the work of a contour, in values times (parts + 1): for epsilon before outcomes leak (kFirstWork), after they leak
// (kLeakWork) and if that does not help (kMaxWork), and for delta (kMaxWorkDelta).
constexpr double kFirstWork = 3e4;
constexpr double kLeakWork = 1e4;
constexpr double kMaxWork = 4e5;
constexpr double kMaxWorkDelta = 3.2e5;

// The most that leaked outcomes may add to epsilon (measured like kEpsilonExcess) and to log delta.
constexpr double kLeakEpsilon = 2e-5;
constexpr double kLeakLogDelta = 0.1;
constexpr double kLeakDelta = 2e-4;  // if delta itself is requested

constexpr std::size_t kMaxLeakingParts = 32;  // each stores its nodes
constexpr double kMinLeakingNoise = 0.15;     // below this, there are thousands of nodes

/// False if delta is very small, or if the noise is so low that the computation would be long and epsilon large.
bool matters(const Composition& composition, double log_delta) {
  return log_delta > kLogNoMatter &&
         std::ranges::none_of(composition.parts, [](const auto& part) { return part.loss.sigma() < kMinLeakingNoise; });
}

bool may_leak(const Composition& composition, double log_delta) {
  return composition.interpolated == 0 && std::isinf(composition.largest()) && !composition.parts.empty() &&
         composition.parts.size() <= kMaxLeakingParts && matters(composition, log_delta);
}

/// Lowers log_delta to the contour's bound at `epsilon`; returns true if the bound is as precise as required.
bool lower_log_delta(const Composition& composition, double epsilon, double& log_delta, double most_work) {
  // Starts with less work; the result shows what precision the next attempt needs.
  for (int attempt = 0; attempt < 6; ++attempt) {
    const auto at = tight::crossing(composition, epsilon, log_delta);
    Contour contour(composition, at);
    if (!contour.usable()) return false;
    const double work = attempt == 0 ? std::min(most_work, kLeakWork) : most_work;
    const bool done = contour.extend(epsilon, kLogDeltaExcess, kEpsilonExcess, work);
    log_delta = std::min(log_delta, contour.at(epsilon).log_delta);
    if (!done && attempt > 0) return false;
    if (done && log_delta > at.log_delta - 1) break;  // otherwise the aliases may not be small compared with delta
  }
  return true;
}

double log_delta_of(const Composition& composition, double epsilon) {
  double log_delta = 0;
  // If epsilon is a thousand standard deviations below the mean loss, delta is within a millionth of 1 (Cantelli).
  const auto plain = composition.moments(0);
  if (plain.mean > epsilon && (plain.mean - epsilon) * (plain.mean - epsilon) > 1e6 * plain.variance) return log_delta;
  const double chernoff = tight::log_chernoff(composition, tight::crossing(composition, epsilon, 0).c, epsilon);
  if (chernoff < kLogNoMatter) return chernoff;
  log_delta = std::min(log_delta, chernoff);
  if (!composition.open.empty())
    return std::min(log_delta, std::log(std::exp(log_delta_of(composition.closed(), epsilon)) + composition.drawn()));
  const bool may = may_leak(composition, log_delta);
  if (lower_log_delta(composition, epsilon, log_delta, kMaxWorkDelta) || !may) return log_delta;
  // The smaller delta is, the less probability may leak. Chernoff's bound lowers log_delta most of the way.
  for (int attempt = 0; attempt < 12; ++attempt) {
    const double before = log_delta;
    const auto left = composition.leaking(log_delta + std::log(kLeakDelta));
    const double bound = tight::log_chernoff(left, tight::crossing(left, epsilon, 0).c, epsilon);
    log_delta = std::min(log_delta, std::log(left.leak + std::exp(bound)));
    if (log_delta < kLogNoMatter) break;
    if (log_delta < before - 1) continue;
    if (!lower_log_delta(left, epsilon, log_delta, kLeakWork) || log_delta > before - 0.3) break;
  }
  return log_delta;
}

/// The smallest epsilon >= 0 at which the contour's bound is at most log_delta, rounded up; the search begins at `start`.
double solve(const Contour& contour, double log_delta, double start) {
  double low = -1;  // the bound at 0 is unknown
  double high = kNoLimit;
  double at = start;
  const double close = 1e-9 * std::max(1.0, start);
  for (int i = 0; i < 100 && high - std::max(low, 0.0) > close; ++i) {
    const auto value = contour.at(at);
    (value.log_delta <= log_delta ? high : low) = at;
    // Newton's step, slightly beyond the root so that the last point is on the safe side.
    double next = at - (value.log_delta - log_delta) / value.slope + 0.4 * close;
    if (std::isfinite(high) && i % 3 == 2) next = (std::max(low, 0.0) + high) / 2;
    if (low < 0 && !(next > 0)) next = 0;
    if (!(next > low && next < high)) next = std::isinf(high) ? 2 * low + 1e-6 : (std::max(low, 0.0) + high) / 2;
    at = next;
  }
  return high;
}

double excess_at(double epsilon) { return std::min(kEpsilonExcess, kEpsilonShare * std::max(epsilon, kMinEpsilon)); }

/// Uses contours to lower epsilon, already an upper bound, until its excess is at most kEpsilonExcess or, if `fine`,
/// excess_at(epsilon); returns true if the excess of the result is at most kEpsilonEnough.
bool lower_epsilon(const Composition& composition, double target, double& epsilon, double most_work, bool fine) {
  const auto wanted = [&](double at) { return fine ? excess_at(at) : kEpsilonExcess; };
  for (int attempt = 0; attempt < 30; ++attempt) {
    Contour contour(composition, tight::crossing(composition, epsilon, target));
    if (!contour.usable()) return false;
    for (int i = 0; i < 20; ++i) {
      const bool done = contour.extend(epsilon, kNoLimit, wanted(epsilon), most_work);
      const double next = std::min(epsilon, solve(contour, target, epsilon));
      const bool settled = next > epsilon - wanted(epsilon) / 10 * std::max(1.0, epsilon);
      epsilon = next;
      if (!done) {
        const auto value = contour.at(epsilon);
        return value.excess < kEpsilonEnough * -value.slope;
      }
      if (settled) return true;
      if (!contour.covers(epsilon)) break;
    }
  }
  return true;
}

/// Lowers a small epsilon, already an upper bound, to the smallest epsilon that the bound on delta proves. The error of that
/// bound is relative to delta, so it is sharper for small epsilon. Uses secants aimed slightly below log delta, and bisection if
/// they leave the bracket.
double sharper_if_small(const Composition& composition, double target, double epsilon) {
  constexpr double kClose = 1e-8;  // in log delta
  if (epsilon > kSmallEpsilon || composition.parts.size() > kMaxLeakingParts || !matters(composition, target)) return epsilon;
  const auto excess = [&](double at) { return log_delta_of(composition, at) - target; };
  double low = 0, before = 0, at = epsilon, high = epsilon;
  double value_before = excess(0);
  if (value_before <= 0) return 0;
  for (int attempt = 0; attempt < 12; ++attempt) {
    const double value = excess(at);
    if (value > 0 && at == epsilon) break;
    (value <= 0 ? high : low) = at;
    if (value <= 0 && value > -kClose) break;
    const double slope = (value - value_before) / (at - before);
    before = std::exchange(at, at - (value + kClose / 2) / slope);
    value_before = value;
    if (!(at > low && at < high)) at = (low + high) / 2;
  }
  return high;
}

double bulk_epsilon(const Composition& composition, double delta) {
  const double target = std::log(delta);
  auto [epsilon, c] = tight::chernoff_epsilon(composition, delta);
  if (!composition.open.empty()) {
    // Without the open releases, delta falls by at most the probability that one of them draws the record.
    const double drawn = composition.drawn();
    return drawn < delta / 2 ? std::min(epsilon, bulk_epsilon(composition.closed(), delta - drawn)) : epsilon;
  }
  if (!may_leak(composition, target)) {
    lower_epsilon(composition, target, epsilon, matters(composition, target) ? kMaxWork : kFirstWork, true);
    return epsilon;
  }
  if (lower_epsilon(composition, target, epsilon, kFirstWork, true)) return epsilon;
  // The more steeply delta falls, the more may leak; the more leaks, the further right (larger c, where delta falls more steeply)
  // the contour can cross.
  for (int attempt = 0; attempt < 12; ++attempt) {
    const double share = std::min(kLeakLogDelta, kLeakEpsilon * c);
    const auto left = composition.leaking(target + std::log(share));
    const auto bound = tight::chernoff_epsilon(left, delta - left.leak);
    epsilon = std::min(epsilon, bound.epsilon);
    if (bound.c > 1.5 * c && share < kLeakLogDelta) {
      c = bound.c;
      continue;
    }
    if (!lower_epsilon(left, target, epsilon, kLeakWork, true)) lower_epsilon(composition, target, epsilon, kMaxWork, false);
    break;
  }
  return epsilon;
}

double epsilon_of(const Composition& composition, double delta) {
  return sharper_if_small(composition, std::log(delta), bulk_epsilon(composition, delta));
}

constexpr const char* kOpenRemark =
    "an upper bound, not the exact value: the noise is so low that releases are counted by a bound on their moments";

constexpr const char* kCoarseRemark =
    "an upper bound, not the exact value: there are too many kinds of releases, with rates and noise too far apart, to count "
    "one by one";

constexpr const char* kByRdp = "; this is rdp's";

/// The remark on an answer from this composition; empty if the answer is exact up to rounding.
std::string remark(const Composition& composition) {
  if (!composition.open.empty()) return kOpenRemark;
  if (composition.coarse) return kCoarseRemark;
  return {};
}

/// True if this direction's log delta at `epsilon` is certainly at most `log_delta`.
bool below(const Composition& composition, double epsilon, double log_delta) {
  if (composition.largest() <= epsilon) return true;
  return tight::log_chernoff(composition, tight::crossing(composition, epsilon, log_delta).c, epsilon) <= log_delta;
}

/// The value in the worse direction between the schedule's neighbors, and the remark on it.
std::pair<double, std::string> worst_direction(const Schedule& schedule, auto value_of, auto is_below) {
  const bool replacing = schedule.neighbours == Neighbours::replace_one;
  const auto first = schedule.composition(replacing ? Pair::replace : Pair::remove);
  double value = value_of(first);
  if (!replacing) {
    const auto adding = schedule.composition(Pair::add);
    if (!is_below(adding, value)) value = std::max(value, value_of(adding));
  }
  return {value, remark(first)};
}

// A spending whose noise in shares was converted to Gaussian noise. as_gaussians() returns none if no noise is in shares.
struct AsGaussians {
  Spending spending;
  double log_factor = 0;
};
std::optional<AsGaussians> as_gaussians(std::span<const Releases> spending) {
  if (std::ranges::all_of(spending, [](const Releases& some) { return some.law == NoiseLaw::gaussian; })) return std::nullopt;
  AsGaussians as;
  for (Releases releases : spending) {
    const GaussianLike like = law_of(releases.law).gaussian_like(distributed_noise(releases)).value();
    as.log_factor += static_cast<double>(releases.count) * like.log_factor;
    releases.noise_multiplier = like.noise_multiplier;
    releases.law = NoiseLaw::gaussian;
    releases.shares = {};
    as.spending.push_back(releases);
  }
  return as;
}

/// Returns the exact curve of lots with the draw and rate of `first`, at their least noise; null if there are other releases, or
/// if the noise is so low or high that amplification hardly matters.
std::shared_ptr<const DrawCurve> own_curve(std::span<const Releases> spending, const Releases& first, bool quick) {
  const std::uint64_t lots = lots_an_epoch(first.rate);
  std::uint64_t passes = 0;
  double noise = std::numeric_limits<double>::infinity();
  for (const Releases& releases : spending) {
    if (releases.count == 0) continue;
    if (releases.sampling != first.sampling || lots_an_epoch(releases.rate) != lots) return nullptr;
    noise = std::min(noise, releases.noise_multiplier);
    passes += releases.passes > 0 ? std::min(releases.count, releases.passes) : releases.count;
  }
  const double mu = std::sqrt(static_cast<double>(passes)) / noise;
  if (passes == 0 || !(mu >= DrawCurve::kLeastMu && mu <= DrawCurve::kMostMu)) return nullptr;
  // Budgets and statements request the same curve several times.
  using Key = std::tuple<Sampling, double, std::uint64_t, std::uint64_t, bool>;
  static std::mutex mutex;
  static std::deque<std::pair<Key, std::shared_ptr<const DrawCurve>>> known;
  constexpr std::size_t kMostKnown = 32;
  const Key key{first.sampling, noise, lots, passes, quick};
  {
    const std::lock_guard lock(mutex);
    const auto found = std::ranges::find(known, key, [](const auto& entry) { return entry.first; });
    if (found != known.end()) return found->second;
  }
  constexpr double kCoarse = 5;
  std::shared_ptr<const DrawCurve> curve = draw_of(first.sampling).curve(noise, lots, passes, quick ? kCoarse : 1);
  const std::lock_guard lock(mutex);
  if (known.size() == kMostKnown) known.pop_front();
  known.emplace_back(key, curve);
  return curve;
}

/// True if a record may have several rows, drawn independently.
bool has_rows(const Releases& releases) { return releases.rows > 1 && releases.rate < 1; }

UserMixture mixture_of(const Releases& releases) { return {releases.rows, releases.rate, releases.noise_multiplier}; }

/// The bound for a single release with several rows per record, or for lots of a draw with a curve, from their own curves; empty
/// for other releases. The three functions determine whether the bound is on epsilon or delta.
std::optional<PrivacyBound> by_own_curve(std::span<const Releases> spending, bool quick, const auto& of_rows, const auto& of_lots,
                                         const auto& of_others) {
  if (spending.size() == 1 && has_rows(spending.front()) && spending.front().count == 1)
    return PrivacyBound{of_rows(mixture_of(spending.front())), {}};
  const auto found = std::ranges::find_if(spending, [](const Releases& some) { return draw_of(some.sampling).has_curve(); });
  if (found == spending.end()) return std::nullopt;
  const Spending unamplified = merged(spending);
  const PrivacyBound other = of_others(unamplified);
  if (const auto curve = own_curve(spending, *found, quick)) return PrivacyBound{std::min(other.value, of_lots(*curve)), {}};
  if (unamplified.empty()) return other;
  return PrivacyBound{other.value, "an upper bound, not the exact value: beside other releases, " +
                                       std::string(name_of(found->sampling)) + " lots count without amplification"};
}

}  // namespace

std::string Tight::unsound(std::span<const Releases> spending) const {
  const auto has_bound = [](NoiseLaw law) { return law_of(law).has_gaussian_like(); };
  if (const auto found = std::ranges::find_if_not(spending, has_bound, &Releases::law); found != spending.end()) {
    const auto valid = names_where<NoiseLaw>([&](NoiseLaw law) { return law != NoiseLaw::gaussian && has_bound(law); });
    return "it has no bound for " + std::string(choice_name(found->law)) + " noise; valid: rdp, or noise-law " + joined(valid);
  }
  if (const auto rows = std::ranges::find_if(spending, has_rows);
      rows != spending.end() && (spending.size() > 1 || spending.front().count > 1))
    return "several rows of a record have an exact bound only for a single release; valid: rdp";
  return AccountantPart::unsound(spending);
}

PrivacyBound Tight::least_epsilon(std::span<const Releases> spending, double delta) const {
  if (const auto like = as_gaussians(spending)) {
    // If P <= e^f P' and Q' <= e^f Q, then P(S) - e^epsilon Q(S) <= e^f (P'(S) - e^(epsilon - 2 f) Q'(S)).
    if (!std::isfinite(like->log_factor)) return {kNoLimit, {}};
    PrivacyBound bound = least_epsilon(like->spending, delta * std::exp(-like->log_factor));
    bound.value += 2 * like->log_factor;
    return bound;
  }
  const auto own = by_own_curve(
      spending, quick, [&](const UserMixture& mixture) { return user_mixture_epsilon(mixture, delta); },
      [&](const DrawCurve& curve) { return curve.epsilon(delta); },
      [&](const Spending& others) { return least_epsilon(others, delta); });
  if (own) return *own;
  const Schedule schedule(spending);
  if (schedule.empty() || schedule.total_variation() <= delta) return {};
  if (schedule.steps.empty()) return {gaussian_epsilon(std::sqrt(schedule.gaussian), delta)};
  const auto better = [&, open = tight::chernoff_epsilon(schedule.opened(), delta).epsilon](double epsilon, std::string remark) {
    if (!remark.empty()) {
      const double by_rdp = Rdp{}.epsilon(spending, delta).value;
      if (by_rdp < std::min(open, epsilon)) return PrivacyBound{by_rdp, remark + kByRdp};
    }
    return open < epsilon ? PrivacyBound{open, kOpenRemark} : PrivacyBound{epsilon, std::move(remark)};
  };
  const auto [epsilon, remark] = worst_direction(
      schedule, [&](const Composition& composition) { return epsilon_of(composition, delta); },
      [&](const Composition& other, double found) {
        return below(other, found, std::log(delta)) || (found <= kSmallEpsilon && log_delta_of(other, found) <= std::log(delta));
      });
  return better(epsilon, remark);
}

PrivacyBound Tight::least_delta(std::span<const Releases> spending, double epsilon) const {
  if (const auto like = as_gaussians(spending)) {
    if (!(epsilon >= 2 * like->log_factor)) return {1, {}};
    PrivacyBound bound = least_delta(like->spending, epsilon - 2 * like->log_factor);
    bound.value = std::min(1.0, bound.value * std::exp(like->log_factor));
    return bound;
  }
  const auto own = by_own_curve(
      spending, quick, [&](const UserMixture& mixture) { return user_mixture_delta(mixture, epsilon); },
      [&](const DrawCurve& curve) { return curve.delta(epsilon); },
      [&](const Spending& others) { return least_delta(others, epsilon); });
  if (own) return *own;
  const Schedule schedule(spending);
  if (schedule.empty()) return {};
  const auto answer = [&](double log_delta, std::string remark) {
    PrivacyBound bound = bound_of(log_delta, std::move(remark));
    bound.value = std::min(bound.value, schedule.total_variation());
    return bound;
  };
  if (schedule.steps.empty()) return answer(gaussian_log_delta(std::sqrt(schedule.gaussian), epsilon), {});
  const auto opened = schedule.opened();
  const auto better = [&, open = tight::log_chernoff(opened, tight::crossing(opened, epsilon, 0).c, epsilon)](
                          double log_delta, std::string remark) {
    if (!remark.empty()) {
      const PrivacyBound by_rdp = Rdp{}.delta(spending, epsilon);
      const double log_rdp = std::log(by_rdp.value);
      if (log_rdp < std::min(open, log_delta)) return answer(log_rdp, remark + kByRdp);
    }
    return open < log_delta ? answer(open, kOpenRemark) : answer(log_delta, std::move(remark));
  };
  const auto [log_delta, remark] = worst_direction(
      schedule, [&](const Composition& composition) { return log_delta_of(composition, epsilon); },
      [&](const Composition& other, double found) { return below(other, epsilon, found); });
  return better(log_delta, remark);
}

}  // namespace fedstride
