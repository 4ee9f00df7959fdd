#include "optim/pooled.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/text.hpp"
#include "optim/lane_sum.hpp"

namespace fedstride {
namespace {

constexpr double kToleranceUntold = 0.1;  // ADADP's, for whoever takes steps without a server
constexpr double kMinFactor = 0.9;        // of the rate in a step, while no V is told
constexpr double kMaxFactor = 1.1;
constexpr double kMinRate = 1e-30;
constexpr double kMaxRate = 1e30;

double tolerance_at(const Pooled::State& state, Progress progress) {
  return state.told[0] + (state.told[1] - state.told[0]) * progress.of_round;
}

double rate_for(double tolerance, double mean_square) {
  return std::clamp(tolerance / std::sqrt(mean_square), kMinRate, kMaxRate);  // 0 / 0 cannot be: tolerances are above 0
}

/// half = theta - eta/2 G1; returns |d1|^2.
double pooled_first_half(const float* __restrict theta, float* __restrict half, const float* __restrict gradient,
                         std::size_t size, float half_rate) {
  return lane_sum(size, [&](std::size_t i) {
    const float moved = half_rate * gradient[i];
    half[i] = theta[i] - moved;
    return static_cast<double>(moved) * static_cast<double>(moved);
  });
}

/// next = half - eta/2 G2; returns |d1 - d2|^2, NaN or infinite unless every number in between is finite.
double pooled_second_half(const float* __restrict theta, const float* __restrict half, float* __restrict next,
                          const float* __restrict gradient, std::size_t size, float half_rate) {
  return lane_sum(size, [&](std::size_t i) {
    const float moved = half_rate * gradient[i];
    next[i] = half[i] - moved;
    const auto difference = static_cast<double>((half[i] - theta[i]) + moved + 0.0F * next[i]);  // 0 x infinity is NaN
    return difference * difference;
  });
}

/// The squares of a step that has been computed whole.
struct Squares {
  double second = 0;      ///< |d2|^2
  double difference = 0;  ///< |d1 - d2|^2
};

/// Shortens d2 by `factor` and measures the step.
Squares shorten_second(const Vector& theta, const Vector& half, Vector& next, float factor) {
  Squares squares;
  for (std::size_t i = 0; i < next.size(); ++i) {
    const float second = factor * (next[i] - half[i]);
    next[i] = half[i] + second;
    const auto difference = static_cast<double>((half[i] - theta[i]) - second);
    squares.second += static_cast<double>(second) * static_cast<double>(second);
    squares.difference += difference * difference;
  }
  return squares;
}

}  // namespace

Pooled::Pool Pooled::begin_pool(const PoolPlan& plan) const {
  if (!(plan.start_norm > 0) || !std::isfinite(plan.start_norm))
    throw usage_error("the first weights have the norm " + number_text(plan.start_norm) +
                      ", which optimizer 'pooled' takes as its unit; valid is a finite one above 0");
  const std::uint32_t rounds = horizon > 0 ? static_cast<std::uint32_t>(horizon) : plan.rounds;
  const double steps = plan.steps_a_round * rounds;
  if (!(steps >= 1))
    throw usage_error("optimizer 'pooled' plans " + number_text(steps) + " steps of a client; valid is 1 or more");
  Pool pool;
  pool.scale =
      kappa * std::sqrt(plan.clients_a_round) * plan.start_norm * std::sqrt((course == Course::falling ? 1.5 : 0.5) / steps);
  pool.last = 1 / steps;
  pool.rounds = rounds;
  return pool;
}

std::array<double, Pooled::kNumbersTold> Pooled::tell(const Pool& pool, std::uint32_t round) const {
  const auto after = [&](std::uint32_t rounds) {
    if (course == Course::constant) return pool.scale;
    return pool.scale * std::max(1 - static_cast<double>(rounds) / pool.rounds, pool.last);
  };
  const double mean = pool.known > 0 && rate_of == RateOf::federation ? pool.sum / pool.known : 0;
  return {after(round - 1), after(round), mean};
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
  if (told.empty()) return;
  const auto good = [](double number) { return number >= 0 && std::isfinite(number); };
  if (told.size() != kNumbersTold || !std::ranges::all_of(told, good) || told[0] == 0)
    throw failure("the server told " + counted(told.size(), "number") + ", the first of them " + number_text(told[0]) +
                  "; optimizer 'pooled' takes 3: a tolerance above 0, one from 0, and a mean from 0, all of them finite");
  std::ranges::copy(told, state.told.begin());
}

double Pooled::learning_rate(const State& state, Progress progress) const {
  return state.told[2] > 0 ? rate_for(tolerance_at(state, progress), state.told[2]) : state.learning_rate;
}

StepReport Pooled::step(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
  for (Vector* vector : {&scratch.half, &scratch.next})
    if (vector->size() != weights.size()) vector->assign(weights.size(), 0);
  const double tolerance = tolerance_at(state, progress);
  const double rate = learning_rate(state, progress);
  const auto half_rate = static_cast<float>(rate / 2);
  const double longest = max_step * tolerance / std::numbers::sqrt2;
  const float* theta = weights.data();
  float* half = scratch.half.data();
  float* next = scratch.next.data();

  double first = std::sqrt(gradient(theta, [&](std::size_t offset, std::span<const float> stretch) {
    return pooled_first_half(theta + offset, half + offset, stretch.data(), stretch.size(), half_rate);
  }));
  if (first > longest) {
    const auto factor = static_cast<float>(longest / first);
    for (std::size_t i = 0; i < weights.size(); ++i) half[i] = theta[i] + factor * (half[i] - theta[i]);
    first = longest;
  }
  double difference = gradient(half, [&](std::size_t offset, std::span<const float> stretch) {
    return pooled_second_half(theta + offset, half + offset, next + offset, stretch.data(), stretch.size(), half_rate);
  });
  // |d2| <= |d1| + |d1 - d2|: mostly that says that it is short enough.
  if (!(first + std::sqrt(difference) <= longest) && std::isfinite(difference)) {
    const double second = std::sqrt(shorten_second(weights, scratch.half, scratch.next, 1).second);
    if (second > longest)
      difference = shorten_second(weights, scratch.half, scratch.next, static_cast<float>(longest / second)).difference;
  }

  StepReport report{.learning_rate = rate, .accepted = std::isfinite(difference), .error = std::sqrt(difference)};
  const double u = difference / (rate * rate);
  if (report.accepted) weights.swap(scratch.next);
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
