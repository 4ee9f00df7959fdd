#include "client/optim/adam_bc.hpp"

#include <algorithm>
#include <cmath>

namespace fedstride {
namespace {

struct BcFactors {
  float mean_stays, mean_joins, square_stays, square_joins;
  float step;      ///< rate / (1 - beta1^t)
  float unbiased;  ///< 1 / (1 - beta2^t)
  float noise;     ///< phi, not debiased
  float floor;
};

void update_bc(float* __restrict weights, float* __restrict mean, float* __restrict square, const float* __restrict gradient,
               std::size_t size, const BcFactors factor) {
  for (std::size_t i = 0; i < size; ++i) {
    const float g = gradient[i];
    const float m = factor.mean_stays * mean[i] + factor.mean_joins * g;
    const float v = factor.square_stays * square[i] + factor.square_joins * (g * g);
    mean[i] = m;
    square[i] = v;
    weights[i] -= factor.step * m / std::sqrt(std::max((v - factor.noise) * factor.unbiased, factor.floor));
  }
}

}  // namespace

void AdamBc::start(State& state, std::size_t size) const {
  state.mean.assign(size, 0);
  state.square.assign(size, 0);
  state.mean_bias = state.square_bias = 1;
  state.noise = 0;
}

StepReport AdamBc::step(State& state, Vector& /*scratch*/, Vector& weights, Gradient gradient, Progress progress) const {
  check_state_size(kName, state.mean, weights);
  check_state_size(kName, state.square, weights);
  state.mean_bias *= beta1;
  state.square_bias *= beta2;
  state.noise = beta2 * state.noise + (1 - beta2) * progress.noise * progress.noise;
  const double current = rate(progress);
  const BcFactors factor{
      .mean_stays = static_cast<float>(beta1),
      .mean_joins = static_cast<float>(1 - beta1),
      .square_stays = static_cast<float>(beta2),
      .square_joins = static_cast<float>(1 - beta2),
      .step = static_cast<float>(current / (1 - state.mean_bias)),
      .unbiased = static_cast<float>(1 / (1 - state.square_bias)),
      .noise = static_cast<float>(state.noise),
      .floor = static_cast<float>(floor),
  };
  gradient(weights.data(), [&](std::size_t offset, std::span<const float> stretch) {
    update_bc(weights.data() + offset, state.mean.data() + offset, state.square.data() + offset, stretch.data(), stretch.size(),
              factor);
    return 0.0;
  });
  return {.learning_rate = current};
}

}  // namespace fedstride
