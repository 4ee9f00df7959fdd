#include "client/optim/schedule_free.hpp"

namespace fedstride {
namespace {

// Both functions compute a + share (b - a), so equal numbers stay unchanged.

/// Replaces x with y and saves x.
void interpolate(float* __restrict weights, float* __restrict average, const float* __restrict iterate, std::size_t size,
                 float share) {
  for (std::size_t i = 0; i < size; ++i) {
    const float x = weights[i];
    average[i] = x;
    weights[i] = x + share * (iterate[i] - x);
  }
}

/// Moves z and replaces y with the next x.
void average_iterates(float* __restrict weights, const float* __restrict average, float* __restrict iterate,
                      const float* __restrict gradient, std::size_t size, float rate, float share) {
  for (std::size_t i = 0; i < size; ++i) {
    const float z = iterate[i] - rate * gradient[i];
    iterate[i] = z;
    weights[i] = average[i] + share * (z - average[i]);
  }
}

}  // namespace

void ScheduleFree::start(State& state, std::size_t size) const {
  state.iterate.assign(size, 0);
  state.steps = 0;
}

StepReport ScheduleFree::step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress /*progress*/) const {
  check_state_size(kName, state.iterate, weights);
  if (state.steps == 0) state.iterate = weights;
  ++state.steps;
  scratch.resize(weights.size());
  interpolate(weights.data(), scratch.data(), state.iterate.data(), weights.size(), static_cast<float>(1 - interpolation));
  const auto eta = static_cast<float>(rate);
  const auto share = static_cast<float>(1 / static_cast<double>(state.steps + 1));
  gradient(weights.data(), [&](std::size_t offset, std::span<const float> stretch) {
    average_iterates(weights.data() + offset, scratch.data() + offset, state.iterate.data() + offset, stretch.data(),
                     stretch.size(), eta, share);
    return 0.0;
  });
  return {.learning_rate = rate};
}

}  // namespace fedstride
