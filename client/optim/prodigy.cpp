#include "client/optim/prodigy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/optim/lane_sum.hpp"

namespace fedstride {
namespace {

struct ProdigyFactors {
  float mean_stays, mean_joins, square_stays, square_joins, direction_stays, direction_joins;
  float rate;
  float epsilon;  ///< scaled by d / d_0
};

struct ProdigyVectors {
  float* __restrict weights;
  const float* __restrict origin;
  float* __restrict mean;
  float* __restrict square;
  float* __restrict direction;
};

/// Returns <g, x_0 - x>.
double prodigy_update(const ProdigyVectors at, const float* __restrict gradient, std::size_t size, const ProdigyFactors factor) {
  float* __restrict weights = at.weights;
  const float* __restrict origin = at.origin;
  float* __restrict mean = at.mean;
  float* __restrict square = at.square;
  float* __restrict direction = at.direction;
  return lane_sum(size, [=](std::size_t i) {
    const float g = gradient[i];
    const float x = weights[i];
    const float m = factor.mean_stays * mean[i] + factor.mean_joins * g;
    const float v = factor.square_stays * square[i] + factor.square_joins * (g * g);
    mean[i] = m;
    square[i] = v;
    direction[i] = factor.direction_stays * direction[i] + factor.direction_joins * g;
    weights[i] = x - factor.rate * m / (std::sqrt(v) + factor.epsilon);
    return static_cast<double>(g) * static_cast<double>(origin[i] - x);
  });
}

}  // namespace

void Prodigy::start(State& state, std::size_t size) const {
  for (Vector* vector : {&state.origin, &state.mean, &state.square, &state.direction}) vector->assign(size, 0);
  state.progress = 0;
  state.distance = initial_distance;
  state.begun = false;
}

StepReport Prodigy::step(State& state, Vector& /*scratch*/, Vector& weights, Gradient gradient, Progress /*progress*/) const {
  for (const Vector* vector : {&state.origin, &state.mean, &state.square, &state.direction})
    check_state_size(kName, *vector, weights);
  if (!state.begun) state.origin = weights;
  state.begun = true;
  // Division by powers of d_0 keeps the vectors far from the smallest floats and leaves the steps unchanged.
  const double rate = state.distance;
  const double grown = rate / initial_distance;
  const double beta3 = std::sqrt(beta2);
  const double joins = (1 - beta3) * grown * grown;
  const ProdigyFactors factor{.mean_stays = static_cast<float>(beta1),
                              .mean_joins = static_cast<float>((1 - beta1) * grown),
                              .square_stays = static_cast<float>(beta2),
                              .square_joins = static_cast<float>((1 - beta2) * grown * grown),
                              .direction_stays = static_cast<float>(beta3),
                              .direction_joins = static_cast<float>(joins),
                              .rate = static_cast<float>(rate),
                              .epsilon = static_cast<float>(grown * epsilon)};
  const double product = gradient(weights.data(), [&](std::size_t offset, std::span<const float> stretch) {
    return prodigy_update({weights.data() + offset, state.origin.data() + offset, state.mean.data() + offset,
                           state.square.data() + offset, state.direction.data() + offset},
                          stretch.data(), stretch.size(), factor);
  });
  state.progress = beta3 * state.progress + joins * product;
  const double length =
      lane_sum(weights.size(), [&](std::size_t i) { return static_cast<double>(std::abs(std::as_const(state.direction)[i])); });
  if (length > 0) state.distance = std::max(rate, state.progress / length);
  return {.learning_rate = rate};
}

}  // namespace fedstride
