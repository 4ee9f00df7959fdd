#include "client/optim/adam.hpp"

#include <cmath>

namespace fedstride {
namespace {

struct Factors {
  float mean_stays, mean_joins, square_stays, square_joins;
  float step;      ///< rate / (1 - beta1^t)
  float unbiased;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon;
};

void update(float* __restrict weights, float* __restrict mean, float* __restrict square, const float* __restrict gradient,
            std::size_t size, const Factors factor) {
  for (std::size_t i = 0; i < size; ++i) {
    const float g = gradient[i];
    const float m = factor.mean_stays * mean[i] + factor.mean_joins * g;
    const float v = factor.square_stays * square[i] + factor.square_joins * (g * g);
    mean[i] = m;
    square[i] = v;
    weights[i] -= factor.step * m / (std::sqrt(v) * factor.unbiased + factor.epsilon);
  }
}

}  // namespace

void Adam::start(State& state, std::size_t size) const {
  state.mean.assign(size, 0);
  state.square.assign(size, 0);
  state.mean_bias = state.square_bias = 1;
}

StepReport Adam::step(State& state, Vector& /*scratch*/, Vector& weights, Gradient gradient, Progress progress) const {
  check_state_size(kName, state.mean, weights);
  check_state_size(kName, state.square, weights);
  state.mean_bias *= beta1;
  state.square_bias *= beta2;
  const double current = rate(progress);
  const Factors factor{
      .mean_stays = static_cast<float>(beta1),
      .mean_joins = static_cast<float>(1 - beta1),
      .square_stays = static_cast<float>(beta2),
      .square_joins = static_cast<float>(1 - beta2),
      .step = static_cast<float>(current / (1 - state.mean_bias)),
      .unbiased = static_cast<float>(1 / std::sqrt(1 - state.square_bias)),
      .epsilon = static_cast<float>(epsilon),
  };
  gradient(weights.data(), [&](std::size_t offset, std::span<const float> stretch) {
    update(weights.data() + offset, state.mean.data() + offset, state.square.data() + offset, stretch.data(), stretch.size(),
           factor);
    return 0.0;
  });
  return {.learning_rate = current};
}

}  // namespace fedstride
