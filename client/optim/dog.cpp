#include "client/optim/dog.hpp"

#include <algorithm>
#include <cmath>

#include "client/optim/lane_sum.hpp"
#include "client/optim/whole_gradient.hpp"

namespace fedstride {

void Dog::start(State& state, std::size_t size) const {
  state.origin.assign(size, 0);
  state.radius = state.squares = state.learning_rate = 0;
}

StepReport Dog::step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress /*progress*/) const {
  check_state_size(kName, state.origin, weights);
  if (state.radius == 0) {
    const double norm = std::sqrt(squared_distance(state.origin, weights));  // the origin is still 0
    state.origin = weights;
    state.radius = initial_movement * (1 + norm);
  }
  state.radius = std::max(state.radius, std::sqrt(squared_distance(state.origin, weights)));
  state.squares += keep_gradient(gradient, weights, scratch);
  state.learning_rate = state.squares > 0 ? state.radius / std::sqrt(state.squares) : 0;
  descend(weights, scratch, state.learning_rate);
  return {.learning_rate = state.learning_rate};
}

}  // namespace fedstride
