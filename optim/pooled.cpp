#include "optim/pooled.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "optim/half_steps.hpp"
#include "optim/lane_sum.hpp"

namespace fedstride {
namespace {

constexpr double kToleranceUntold = 0.1;  // ADADP's, for whoever takes steps without a server
constexpr double kMinFactor = 0.9;        // of the rate in a step, while no V is told
constexpr double kMaxFactor = 1.1;
constexpr double kMinRate = 1e-30;
constexpr double kMaxRate = 1e30;

double rate_for(double tolerance, double mean_square) {
  return std::clamp(tolerance / std::sqrt(mean_square), kMinRate, kMaxRate);  // 0 / 0 cannot be: tolerances are above 0
}

/// weights -= eta/2 G1; returns |d1|^2.
double pooled_first_half(float* __restrict weights, const float* __restrict gradient, std::size_t size, float half_rate) {
  return lane_sum(size, [&](std::size_t i) {
    const float moved = half_rate * gradient[i];
    weights[i] -= moved;
    return static_cast<double>(moved) * static_cast<double>(moved);
  });
}

/// weights -= eta/2 G2; returns |d1 - d2|^2, NaN or infinite unless every number in between is finite.
double pooled_second_half(const float* __restrict theta, float* __restrict weights, const float* __restrict gradient,
                          std::size_t size, float half_rate) {
  return block_sum(size, [&](std::size_t from, std::size_t count, double* lanes) {
    fetch_kept(theta + from);
    for (std::size_t i = from; i < from + count; ++i) {
      const float moved = half_rate * gradient[i];
      const float half = weights[i];
      weights[i] = half - moved;
      const auto difference = static_cast<double>((half - theta[i]) + moved + 0.0F * weights[i]);  // 0 x infinity is NaN
      lanes[i - from] += difference * difference;
    }
  });
}

/// |weights - theta|^2
double squared_distance(const Vector& theta, const Vector& weights) {
  return lane_sum(theta.size(), [&](std::size_t i) {
    const auto difference = static_cast<double>(weights[i] - theta[i]);
    return difference * difference;
  });
}

}  // namespace

Pooled::Pool Pooled::begin_pool(const PoolPlan& plan) const {
  PoolPlan planned = plan;
  if (horizon > 0) planned.rounds = static_cast<std::uint32_t>(horizon);
  Pool pool{.course = ToleranceCourse::plan(kName, planned, course, kappa * kappa / 2)};
  pool.course.limit = max_tolerance;
  return pool;
}

std::array<double, Pooled::kNumbersTold> Pooled::tell(const Pool& pool, std::uint32_t round) const {
  const auto [first, last] = pool.course.of_round(round);
  return {first, last, pool.known > 0 && rate_of == RateOf::federation ? pool.sum / pool.known : 0};
}

void Pooled::take(Pool& pool, double sum, std::uint64_t count) const {
  if (count == 0) return;
  pool.sum += sum / static_cast<double>(count);
  ++pool.known;
}

void Pooled::start(State& state, std::size_t) const {
  state = {.learning_rate = initial_rate};
  state.told = {kToleranceUntold, kToleranceUntold, 0};
}

void Pooled::hear(State& state, std::span<const double> told) const {
  if (!told.empty()) take_told(kName, told, state.told);
}

double Pooled::learning_rate(const State& state, Progress progress) const {
  return state.told[2] > 0 ? rate_for(tolerance_within(state.told, progress), state.told[2]) : state.learning_rate;
}

StepReport Pooled::step(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
  if (scratch.kept.size() != weights.size()) scratch.kept.assign(weights.size(), 0);
  const double tolerance = tolerance_within(state.told, progress);
  const double rate = learning_rate(state, progress);
  const auto half_rate = static_cast<float>(rate / 2);
  const double longest = max_step * tolerance / std::numbers::sqrt2;
  float* half = weights.data();
  float* theta = scratch.kept.data();

  const bool past_caches = pass_caches(weights.size());
  double first = std::sqrt(gradient(half, [&](std::size_t offset, std::span<const float> stretch) {
    keep_aside(half + offset, theta + offset, stretch.size(), past_caches);
    return pooled_first_half(half + offset, stretch.data(), stretch.size(), half_rate);
  }));
  double kept = 1;
  if (first > longest) {
    shorten(scratch.kept, weights, longest / first);
    kept = (longest / first + 1) / 2;
    first = longest;
  }
  double difference = gradient(half, [&](std::size_t offset, std::span<const float> stretch) {
    return pooled_second_half(theta + offset, half + offset, stretch.data(), stretch.size(), half_rate);
  });
  // |d1 + d2| <= 2 |d1| + |d1 - d2|: mostly that says that it is short enough.
  if (!(2 * first + std::sqrt(difference) <= 2 * longest) && std::isfinite(difference)) {
    const double length = std::sqrt(squared_distance(scratch.kept, weights));
    if (length > 2 * longest) {
      const double factor = 2 * longest / length;
      shorten(scratch.kept, weights, factor);
      difference *= factor * factor;
      kept *= factor;
    }
  }

  StepReport report{.learning_rate = rate, .accepted = std::isfinite(difference), .error = std::sqrt(difference)};
  report.kept = report.accepted ? kept : 0;
  const double u = difference / (rate * rate);
  if (!report.accepted) weights.swap(scratch.kept);
  if (!report.accepted || !std::isfinite(u)) return report;
  const bool is_told = state.told[2] > 0;
  if (is_told || progress.of_round >= 0.5) report.statistic = u;
  if (is_told) return report;
  state.sum += u;
  ++state.count;
  const double aim = rate_for(tolerance, state.sum / static_cast<double>(state.count));
  state.learning_rate = std::clamp(aim, kMinFactor * rate, kMaxFactor * rate);
  state.learning_rate = std::clamp(state.learning_rate, kMinRate, kMaxRate);
  return report;
}

}  // namespace fedstride
