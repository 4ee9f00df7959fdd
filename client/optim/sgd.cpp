#include "client/optim/sgd.hpp"

namespace fedstride {
namespace {

void update(float* __restrict weights, const float* __restrict gradient, std::size_t size, float rate) {
  for (std::size_t i = 0; i < size; ++i) weights[i] -= rate * gradient[i];
}

}  // namespace

void sgd_step(Vector& weights, Gradient gradient, double rate) {
  const auto eta = static_cast<float>(rate);
  gradient(weights.data(), [&](std::size_t offset, std::span<const float> stretch) {
    update(weights.data() + offset, stretch.data(), stretch.size(), eta);
    return 0.0;
  });
}

StepReport Sgd::step(NoState&, Vector& /*scratch*/, Vector& weights, Gradient gradient, Progress progress) const {
  const double current = rate(progress);
  sgd_step(weights, gradient, current);
  return {.learning_rate = current};
}

}  // namespace fedstride
