#include "client/optim/adam.hpp"

#include <cmath>

namespace fedstride {

void Adam::start(State& state, std::size_t size) const { state.begin(size); }

StepReport Adam::step(State& state, Vector& /*scratch*/, Vector& weights, Gradient gradient, Progress progress) const {
  check_state_size(kName, state.mean, weights);
  check_state_size(kName, state.square, weights);
  state.count_step(beta1, beta2);
  const double current = rate(progress);
  state.take(weights, gradient, beta1, beta2, current,
             [unbiased = static_cast<float>(1 / std::sqrt(1 - state.square_bias)), added = static_cast<float>(epsilon)](float v) {
               return std::sqrt(v) * unbiased + added;
             });
  return {.learning_rate = current};
}

}  // namespace fedstride
