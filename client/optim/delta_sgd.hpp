#pragma once

#include "client/optim/optimizer.hpp"
#include "core/setting.hpp"

namespace fedstride {

struct DeltaSgdSettings {
  double initial_rate = 0.2;
  double gamma = 2;
  double delta = 0.1;

  static constexpr auto kFields = fields(
      Field{"learning-rate", &DeltaSgdSettings::initial_rate, kRateHelp, Valid{.low = 0, .high = 1e6, .low_included = false}},
      Field{"delta-gamma", &DeltaSgdSettings::gamma, "gamma, factor on the inverse of twice the measured smoothness", kPositive},
      Field{"delta-growth", &DeltaSgdSettings::delta,
            "delta; a step's rate is at most sqrt(1 + delta x last growth) times the last rate", kNonNegative});
};

struct DeltaSgdState {
  Vector previous;           ///< the weights before the last step
  double learning_rate = 0;  ///< of the last step
  double growth = 1;         ///< theta: that rate divided by the previous rate
  bool begun = false;
  void serialize(auto& archive) { archive(previous, learning_rate, growth, begun); }
};

/// Delta-SGD (Kim, Toghani, Uribe & Kyrillidis 2024, Algorithm 1): the learning rate is proportional to the inverse of the
/// smoothness measured between the last two iterates, and it grows slowly. With g(x) the gradient of the step's own batch at x:
///   eta_k = min(gamma |x_k - x_k-1| / (2 |g(x_k) - g(x_k-1)|), sqrt(1 + delta theta_k-1) eta_k-1)
///   theta_k = eta_k / eta_k-1,  x_k+1 = x_k - eta_k g(x_k);  eta_0 = learning-rate, theta_0 = 1
/// The first term is ignored if its numerator or denominator is 0. As in the authors' code (and with its constants: gamma 2,
/// delta 0.1, eta_0 0.2), both gradients use the same batch, so a step reads one batch and costs two gradients (in a client's
/// first step, the same gradient twice), and clients start afresh each round. Unlike here, their code also lets the first rate
/// grow and adds a small constant to the minimum. Under example-level privacy, the two gradients are releases of different lots:
/// their difference is mostly noise, and the rate falls by about a factor of gamma / sqrt(8) per step.
struct DeltaSgd final : OptimizerBase<DeltaSgd, DeltaSgdSettings, DeltaSgdState> {
  using OptimizerBase::OptimizerBase;
  static constexpr std::string_view kName = "delta-sgd";
  static constexpr std::string_view kSummary =
      "rate from the smoothness measured between its last two iterates (Kim et al. 2024)";

  int gradients_per_step(Progress /*progress*/) const override { return 2; }
  int gradients_per_batch() const override { return 2; }

  void start(State& state, std::size_t size) const override;
  bool rate_follows_gradient() const override { return true; }
  double learning_rate(const State& state, Progress /*progress*/) const override { return state.learning_rate; }
  bool follows() const override { return true; }
  void follow(UnitWeight& unit, const StepReport& step) const override { follow_rate(unit, step, 1); }
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
