#pragma once

#include "client/optim/schedule.hpp"

namespace fedstride {

struct EmaSettings : Schedule {
  double beta = 0.9;
  static constexpr auto kFields = fields(
      Schedule::kFields, Field{"beta1", &EmaSettings::beta, kBetaHelp, Valid{.low = 0, .high = 1, .high_included = false}});
};

struct EmaState {
  Vector average;
  double bias = 1;  ///< beta^t
  void serialize(auto& archive) { archive(average, bias); }
};

/// SGD on a debiased exponential average of the gradients (Hong, Wang & Zhou, Algorithm 2; t counts steps from 1):
///   v <- beta v + (1 - beta) g, v initially 0;  weights -= rate v / (1 - beta^t)
struct Ema final : ScheduledOptimizer<Ema, EmaSettings, EmaState> {
  static constexpr std::string_view kName = "ema";
  static constexpr std::string_view kSummary = "SGD on a debiased exponential average of the gradients (Hong et al.)";

  bool follows() const override { return true; }
  void follow(UnitWeight& unit, const StepReport& step) const override {
    unit.bias *= beta;
    unit.momentum = beta * unit.momentum + (1 - beta) * unit.gradient();
    unit.moved += step.learning_rate * unit.momentum / (1 - unit.bias);
  }
  void start(State& state, std::size_t size) const override;
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
