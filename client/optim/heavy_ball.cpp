#include "client/optim/heavy_ball.hpp"

namespace fedstride {
namespace {

void heavy_ball_update(float* __restrict weights, float* __restrict momentum, const float* __restrict gradient, std::size_t size,
                       float rate, float share) {
  for (std::size_t i = 0; i < size; ++i) {
    const float m = share * momentum[i] + gradient[i];
    momentum[i] = m;
    weights[i] -= rate * m;
  }
}

void nesterov_update(float* __restrict weights, float* __restrict momentum, const float* __restrict gradient, std::size_t size,
                     float rate, float share) {
  for (std::size_t i = 0; i < size; ++i) {
    const float m = share * momentum[i] + gradient[i];
    momentum[i] = m;
    weights[i] -= rate * (gradient[i] + share * m);
  }
}

}  // namespace

StepReport HeavyBall::step(Vector& m, Vector& /*scratch*/, Vector& weights, Gradient gradient, Progress progress) const {
  check_state_size(kName, m, weights);
  const double current = rate(progress);
  const auto eta = static_cast<float>(current);
  const auto share = static_cast<float>(momentum);
  gradient(weights.data(), [&](std::size_t offset, std::span<const float> stretch) {
    (nesterov ? nesterov_update : heavy_ball_update)(weights.data() + offset, m.data() + offset, stretch.data(), stretch.size(),
                                                     eta, share);
    return 0.0;
  });
  return {.learning_rate = current};
}

}  // namespace fedstride
