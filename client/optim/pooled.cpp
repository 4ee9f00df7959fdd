#include "client/optim/pooled.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "client/optim/half_steps.hpp"
#include "client/optim/lane_sum.hpp"
#include "core/client_report.hpp"
#include "core/error.hpp"

namespace fedstride {
namespace {

constexpr double kDefaultTolerance = 0.1;  // as in ADADP, for steps without a server
constexpr double kMinFactor = 0.9;         // smallest factor on the rate in one step, while V is unknown
constexpr double kMaxFactor = 1.1;
constexpr double kMinRate = 1e-30;
constexpr double kMostRate = 1e30;
constexpr double kFirstBound = 0.3;               // bound on the tolerance until max-tolerance auto is known
constexpr double kStepInOneNoisyDirection = 0.3;  // replaces kStepInOneDirection if the noise is known

double rate_for(double tolerance, double mean_square) {
  return std::clamp(tolerance / std::sqrt(mean_square), kMinRate, kMostRate);  // never 0 / 0: tolerances are above 0
}

/// weights -= eta/2 G1; returns |d1|^2.
double pooled_first_half(float* __restrict weights, const float* __restrict gradient, std::size_t size, float half_rate) {
  return lane_sum(size, [&](std::size_t i) {
    const float moved = half_rate * gradient[i];
    weights[i] -= moved;
    return static_cast<double>(moved) * static_cast<double>(moved);
  });
}

/// What to do with a step's difference d1 - d2: ignore it, keep it, or multiply it by the difference kept before.
enum class Difference { passing, kept, compared };

/// weights -= eta/2 G2; returns |d1 - d2|^2, which is NaN or infinite unless all intermediate numbers are finite.
template <Difference kUse>
double pooled_second_half(const float* __restrict theta, float* __restrict weights, const float* __restrict gradient,
                          float* __restrict kept, std::size_t size, float half_rate) {
  return block_sum(size, [&](std::size_t from, std::size_t count, double* lanes) {
    prefetch_saved(theta + from);
    for (std::size_t i = from; i < from + count; ++i) {
      const float moved = half_rate * gradient[i];
      const float half = weights[i];
      weights[i] = half - moved;
      const float apart = (half - theta[i]) + moved + 0.0F * weights[i];  // 0 x infinity is NaN
      const auto difference = static_cast<double>(apart);
      lanes[i - from] += difference * difference;
      if constexpr (kUse == Difference::kept) kept[i] = apart;
      if constexpr (kUse == Difference::compared) kept[i] *= apart;
    }
  });
}

using PooledSecondHalf = double (*)(const float*, float*, const float*, float*, std::size_t, float);
constexpr PooledSecondHalf kPooledSecondHalf[] = {pooled_second_half<Difference::passing>, pooled_second_half<Difference::kept>,
                                                  pooled_second_half<Difference::compared>};

bool finds_bound(const Pooled& pooled) { return pooled.max_tolerance.is_auto && pooled.rule == PooledRule::current; }

// Only the second and third of every 16 steps are compared, so the comparison costs almost nothing. A round's first step starts
// from the mean of all clients, so its difference says least about later steps.
Difference use_of_difference(const Pooled& pooled, const PooledState& state) {
  constexpr std::uint64_t kEvery = 16;
  if (!finds_bound(pooled)) return Difference::passing;
  if (state.steps % kEvery == 1) return Difference::kept;
  return state.steps % kEvery == 2 && state.kept > 0 ? Difference::compared : Difference::passing;
}

// Computes min(|theta_0| kappa sqrt(M) sqrt(3 / (2 T)) s, max-tolerance min(1, 2 s)) from the server's numbers.
double tolerance_at(double scale, double limit, double left) { return std::min(scale * left, limit * std::min(1.0, 2 * left)); }

double tolerance_of(const PooledState& state, Progress progress) {
  const auto& [scale, limit, first, last, v] = state.told;
  return tolerance_at(scale, limit, first + (last - first) * progress.of_round);
}

double rate_of_step(const Pooled& pooled, const PooledState& state, double tolerance) {
  const double v = state.told[4];
  if (!(v > 0)) return state.learning_rate;
  const bool guards = pooled.rule == PooledRule::current && state.count > 0;
  return rate_for(tolerance, guards ? std::max(v, state.sum / static_cast<double>(state.count)) : v);
}

}  // namespace

// Under rule 0.3, sends the same numbers as version 0.3: the tolerances at the round's start and end, with a bound of 1e300,
// which limits nothing.
std::vector<double> PooledSteps::tell(std::uint32_t round) const {
  if (rule == PooledRule::version_0_3) {
    const auto [first, last] = course.of_round(round);
    const double mean = counted > 0 && rate_of == RateOf::federation ? sum / counted : 0;
    return {1, 1e300, first, last, mean};
  }
  const auto [first, last] = course.left_in(round);
  const KnownNoise known = known_noise(round);
  const double above = signal(known);
  const double bound = limit(known, above);
  const double tolerance = tolerance_at(course.scale, bound, first);
  double v = 0;
  if (rate_of == RateOf::federation) {
    const bool is_first = rate == 0;
    const double fastest = is_first ? first_rate : 2 * rate;
    double least = tolerance / fastest * (tolerance / fastest);
    if (noise) least = is_first ? 0 : least - noise(round - 1, last_clip).noise / 4;
    v = known.noise + std::max(above, least);
  }
  return {course.scale, bound, first, last, v};
}

// The mean of u, less the known noise; until a statistic is known, the most that gradients add to the noise.
double PooledSteps::signal(const KnownNoise& known) const { return counted > 0 ? std::max(0.0, sum / counted) : known.gradients; }

// The bound on the tolerance.
double PooledSteps::limit(const KnownNoise& known, double gradients) const {
  if (!finds_limit || (aligned == 0 && known.noise == 0)) return course.limit;
  constexpr double kLeast = 1e-12;
  double cosine = aligned == 0 ? 1 : std::max(alignment / aligned, kLeast);
  const bool is_noise = known.noise > 0;
  if (is_noise) {
    const double share = known.noise / (known.noise + gradients);
    const double other = 1 - share;
    cosine = std::min(cosine, share * (share + 2 * other) / known.directions + other * other);
    cosine = std::max(cosine, 1 / known.directions);
  }
  return (is_noise ? kStepInOneNoisyDirection : kStepInOneDirection) / std::sqrt(std::sqrt(cosine));
}

std::vector<NamedNumber> PooledSteps::numbers() const { return numbers_; }

void PooledSteps::take(std::uint32_t round, const ClientReport& sums) {
  const auto told = tell(round);
  const double tolerance = tolerance_at(told[0], told[1], told[2]);
  numbers_ = {{"tolerance", tolerance}, {"tolerance_bound", told[1]}, {"pooled_noise", told.back()}};
  if (sums.statistics == 0) return;
  if (told.back() > 0) rate = rate_for(tolerance, told.back());
  const double mean = sums.statistic / static_cast<double>(sums.statistics);
  numbers_.push_back({"round_noise", mean});
  if (sums.pairs > 0) numbers_.push_back({"noise_directions", static_cast<double>(sums.pairs) / sums.alignment});
  sum += mean - known_noise(round).noise;
  ++counted;
  if (sums.pairs == 0) return;
  alignment += sums.alignment / static_cast<double>(sums.pairs);
  ++aligned;
}

void PooledSteps::prolong(std::uint32_t rounds) {
  if (has_horizon || rounds <= course.rounds) return;
  const double share = static_cast<double>(course.rounds) / rounds;  // old T / new T
  course.scale *= std::sqrt(share);
  if (course.last < 1) course.last *= share;
  course.rounds = rounds;
}

std::unique_ptr<PooledStatistic> Pooled::begin_pool(const PoolPlan& plan) const {
  PoolPlan planned = plan;
  if (horizon > 0) planned.rounds = static_cast<std::uint32_t>(horizon);
  auto pool = std::make_unique<PooledSteps>();
  pool->course = ToleranceCourse::plan(kName, planned, course, kappa * kappa / 2);
  pool->course.limit = max_tolerance.is_auto ? kFirstBound : max_tolerance.value;
  pool->finds_limit = finds_bound(*this);
  pool->has_horizon = horizon > 0 || rule == PooledRule::version_0_3;
  pool->first_rate = initial_rate;
  pool->rate_of = rate_of;
  pool->rule = rule;
  if (rule == PooledRule::current) pool->noise = plan.noise;
  return pool;
}

void Pooled::start(State& state, std::size_t /*size*/) const {
  state = {.learning_rate = initial_rate};
  state.told = {kDefaultTolerance, kDefaultTolerance, 1, 1, 0};
}

void Pooled::hear(State& state, std::span<const double> told) const {
  if (!told.empty()) take_told(kName, told, state.told);
  if (state.told[1] == 0 || state.told[2] == 0)
    throw failure("the server sent 0 among its first three numbers; optimizer '" + std::string(kName) + "' needs " +
                  std::to_string(kPooledNumbers) + " numbers, the first three of them above 0");
  state.steps = 0;
  state.kept = 0;
  if (state.told[4] > 0) state.sum = 0, state.count = 0;
}

double Pooled::learning_rate(const State& state, Progress progress) const {
  const double tolerance = tolerance_of(state, progress);
  return tolerance > 0 ? rate_of_step(*this, state, tolerance) : 0;
}

StepReport Pooled::step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const {
  const std::size_t size = weights.size();
  const Difference use = use_of_difference(*this, state);
  if (const std::size_t room = use == Difference::passing ? size : 2 * size; scratch.size() < room) scratch.resize(room);
  const double tolerance = tolerance_of(state, progress);
  const double rate = rate_of_step(*this, state, tolerance);
  const auto half_rate = static_cast<float>(rate / 2);
  const double longest = max_step * tolerance / std::numbers::sqrt2;
  float* half = weights.data();
  float* theta = scratch.data();
  float* kept_difference = use == Difference::passing ? nullptr : theta + size;

  const bool bypass = bypasses_caches(size);
  double first = std::sqrt(gradient(half, [&](std::size_t offset, std::span<const float> stretch) {
    save_stretch(half + offset, theta + offset, stretch.size(), bypass);
    return pooled_first_half(half + offset, stretch.data(), stretch.size(), half_rate);
  }));
  double kept = 1;
  if (first > longest) {
    shorten(scratch, weights, longest / first);
    kept = (longest / first + 1) / 2;
    first = longest;
  }
  const PooledSecondHalf second_half = kPooledSecondHalf[static_cast<std::size_t>(use)];
  double difference = gradient(half, [&](std::size_t offset, std::span<const float> stretch) {
    float* const beside = kept_difference == nullptr ? nullptr : kept_difference + offset;
    return second_half(theta + offset, half + offset, stretch.data(), beside, stretch.size(), half_rate);
  });
  double alignment = std::numeric_limits<double>::quiet_NaN();
  if (use == Difference::compared) {
    const double product = lane_sum(size, [&](std::size_t i) { return static_cast<double>(kept_difference[i]); });
    alignment = product * product / (state.kept * difference);
    if (alignment > 1) alignment = 1;
  }
  state.kept = use == Difference::kept && std::isfinite(difference) ? difference : 0;
  ++state.steps;
  // |d1 + d2| <= 2 |d1| + |d1 - d2|, which usually shows that the step is short enough.
  if (!(2 * first + std::sqrt(difference) <= 2 * longest) && std::isfinite(difference)) {
    const double length = std::sqrt(squared_distance(weights, scratch));
    if (length > 2 * longest) {
      const double factor = 2 * longest / length;
      shorten(scratch, weights, factor);
      difference *= factor * factor;
      kept *= factor;
    }
  }

  StepReport report{.learning_rate = rate, .accepted = std::isfinite(difference), .error = std::sqrt(difference)};
  report.kept = report.accepted ? kept : 0;
  const double u = difference / (rate * rate);
  if (!report.accepted) std::copy_n(theta, size, half);
  if (!report.accepted || !std::isfinite(u)) return report;
  report.alignment = alignment;
  const bool knows = state.told[4] > 0;
  if (knows || rule == PooledRule::current || progress.of_round >= 0.5) report.statistic = u;
  state.sum += u;
  ++state.count;
  if (knows) return report;
  const double aim = rate_for(tolerance, state.sum / static_cast<double>(state.count));
  state.learning_rate = std::clamp(aim, kMinFactor * rate, kMaxFactor * rate);
  state.learning_rate = std::clamp(state.learning_rate, kMinRate, kMostRate);
  return report;
}

}  // namespace fedstride
