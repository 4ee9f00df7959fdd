#include "client/optim/adam_bc.hpp"

#include <algorithm>
#include <cmath>

namespace fedstride {

void AdamBc::start(State& state, std::size_t size) const {
  state.begin(size);
  state.noise = 0;
}

StepReport AdamBc::step(State& state, Vector& /*scratch*/, Vector& weights, Gradient gradient, Progress progress) const {
  check_state_size(kName, state.mean, weights);
  check_state_size(kName, state.square, weights);
  state.count_step(beta1, beta2);
  state.noise = beta2 * state.noise + (1 - beta2) * progress.noise * progress.noise;
  const double current = rate(progress);
  const auto unbiased = static_cast<float>(1 / (1 - state.square_bias));
  const auto noise = static_cast<float>(state.noise), least = static_cast<float>(floor);
  state.take(weights, gradient, beta1, beta2, current,
             [=](float v) { return std::sqrt(std::max((v - noise) * unbiased, least)); });
  return {.learning_rate = current};
}

}  // namespace fedstride
