#include "client/optim/delta_sgd.hpp"

#include <algorithm>
#include <cmath>

#include "client/optim/lane_sum.hpp"

namespace fedstride {
namespace {

constexpr double kSmallestRate = 1e-30;
constexpr double kLargestRate = 1e30;

/// Copies the gradient at x_k-1 to `kept`; returns |x_k - x_k-1|^2.
double keep_previous(const float* __restrict gradient, float* __restrict kept, const float* __restrict weights,
                     const float* __restrict previous, std::size_t size) {
  return lane_sum(size, [=](std::size_t i) {
    kept[i] = gradient[i];
    const auto moved = static_cast<double>(weights[i] - previous[i]);
    return moved * moved;
  });
}

/// Replaces the kept gradient with the gradient at x_k; returns the squared norm of their difference.
double keep_current(const float* __restrict gradient, float* __restrict kept, std::size_t size) {
  return lane_sum(size, [=](std::size_t i) {
    const auto change = static_cast<double>(gradient[i] - kept[i]);
    kept[i] = gradient[i];
    return change * change;
  });
}

void advance(float* __restrict weights, float* __restrict previous, const float* __restrict gradient, std::size_t size,
             float rate) {
  for (std::size_t i = 0; i < size; ++i) {
    previous[i] = weights[i];
    weights[i] -= rate * gradient[i];
  }
}

}  // namespace

void DeltaSgd::start(State& state, std::size_t size) const {
  state.previous.assign(size, 0);
  state.learning_rate = initial_rate;
  state.growth = 1;
  state.begun = false;
}

StepReport DeltaSgd::step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress /*progress*/) const {
  check_state_size(kName, state.previous, weights);
  if (!state.begun) state.previous = weights;
  scratch.assign(weights.size(), 0);
  float* now = weights.data();
  float* before = state.previous.data();
  float* kept = scratch.data();

  const double moved = std::sqrt(gradient(before, [&](std::size_t offset, std::span<const float> stretch) {
    return keep_previous(stretch.data(), kept + offset, now + offset, before + offset, stretch.size());
  }));
  const double changed = std::sqrt(gradient(now, [&](std::size_t offset, std::span<const float> stretch) {
    return keep_current(stretch.data(), kept + offset, stretch.size());
  }));

  double rate = state.learning_rate;
  if (state.begun) rate *= std::sqrt(1 + delta * state.growth);
  if (moved > 0 && changed > 0) rate = std::min(rate, gamma * moved / (2 * changed));
  rate = std::clamp(rate, kSmallestRate, kLargestRate);
  advance(now, before, kept, weights.size(), static_cast<float>(rate));
  state.growth = rate / state.learning_rate;
  state.learning_rate = rate;
  state.begun = true;
  return {.learning_rate = rate};
}

}  // namespace fedstride
