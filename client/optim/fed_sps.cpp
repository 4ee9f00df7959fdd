#include "client/optim/fed_sps.hpp"

#include <algorithm>

#include "client/optim/whole_gradient.hpp"

namespace fedstride {

StepReport FedSps::step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress /*progress*/) const {
  const double squares = keep_gradient(gradient, weights, scratch);
  const double polyak = gradient.loss() / (c * squares);
  state.learning_rate = polyak < max_rate ? std::max(polyak, 0.0) : max_rate;  // 0 / 0 also gives max_rate
  descend(weights, scratch, state.learning_rate);
  return {.learning_rate = state.learning_rate};
}

}  // namespace fedstride
