#include "client/optim/ema.hpp"

namespace fedstride {
namespace {

void update(float* __restrict weights, float* __restrict average, const float* __restrict gradient, std::size_t size, float rate,
            float stays, float joins) {
  for (std::size_t i = 0; i < size; ++i) {
    const float v = stays * average[i] + joins * gradient[i];
    average[i] = v;
    weights[i] -= rate * v;
  }
}

}  // namespace

void Ema::start(State& state, std::size_t size) const {
  state.average.assign(size, 0);
  state.bias = 1;
}

StepReport Ema::step(State& state, Vector& /*scratch*/, Vector& weights, Gradient gradient, Progress progress) const {
  check_state_size(kName, state.average, weights);
  state.bias *= beta;
  const double current = rate(progress);
  const auto eta = static_cast<float>(current / (1 - state.bias));
  const auto stays = static_cast<float>(beta);
  const auto joins = static_cast<float>(1 - beta);
  gradient(weights.data(), [&](std::size_t offset, std::span<const float> stretch) {
    update(weights.data() + offset, state.average.data() + offset, stretch.data(), stretch.size(), eta, stays, joins);
    return 0.0;
  });
  return {.learning_rate = current};
}

}  // namespace fedstride
