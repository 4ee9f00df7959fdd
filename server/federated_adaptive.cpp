#include "server/federated_adaptive.hpp"

#include <cmath>

namespace fedstride {

void FederatedAdaptive::start(State& state, std::size_t size) const {
  state.average.assign(size, 0);
  state.squares.assign(size, static_cast<float>(tau * tau));
}

template <class NextSquare>
void FederatedAdaptive::step(State& state, Vector& model, const Vector& mean_change, NextSquare next_square) const {
  const auto stays = static_cast<float>(beta1);
  const auto enters = static_cast<float>(1 - beta1);
  const auto rate = static_cast<float>(server_learning_rate);
  const auto offset = static_cast<float>(tau);
  float* __restrict weights = model.data();
  float* __restrict average = state.average.data();
  float* __restrict squares = state.squares.data();
  const float* __restrict change = mean_change.data();
  for (std::size_t i = 0; i < model.size(); ++i) {
    average[i] = stays * average[i] + enters * change[i];
    squares[i] = next_square(squares[i], change[i] * change[i]);
    weights[i] += rate * average[i] / (std::sqrt(squares[i]) + offset);
  }
}

void FederatedAdagrad::apply(State& state, Vector& model, const Vector& mean_change) const {
  step(state, model, mean_change, [](float square, float entering) { return square + entering; });
}

void FederatedAdam::apply(State& state, Vector& model, const Vector& mean_change) const {
  const auto stays = static_cast<float>(beta2);
  const auto enters = static_cast<float>(1 - beta2);
  step(state, model, mean_change, [=](float square, float entering) { return stays * square + enters * entering; });
}

void FederatedYogi::apply(State& state, Vector& model, const Vector& mean_change) const {
  const auto enters = static_cast<float>(1 - beta2);
  step(state, model, mean_change, [=](float square, float entering) {
    const float sign = square > entering ? 1.0F : square < entering ? -1.0F : 0.0F;
    return square - enters * entering * sign;
  });
}

}  // namespace fedstride
