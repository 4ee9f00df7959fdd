#pragma once

#include "client/optim/schedule.hpp"

namespace fedstride {

struct HeavyBallSettings : Schedule {
  double momentum = 0.6;
  bool nesterov = false;
  static constexpr auto kFields =
      fields(Schedule::kFields,
             Field{"momentum", &HeavyBallSettings::momentum, "momentum c, m = c m + g; Yu et al. use 0.6, others mostly 0.9",
                   Valid{.low = 0, .high = 1, .high_included = false}},
             Field{"nesterov", &HeavyBallSettings::nesterov, "Nesterov's form: step along g + c m instead of m"});
};

/// Heavy-ball momentum (Yu, Zhang & Chen, Algorithm 1): m <- c m + g, weights -= rate m, with m initially 0.
/// Nesterov's form is weights -= rate (g + c m), as computed by PyTorch.
/// With a constant gradient, the weights move 1/(1 - c) times as far as with SGD at the same learning rate.
struct HeavyBall final : ScheduledOptimizer<HeavyBall, HeavyBallSettings, Vector> {
  static constexpr std::string_view kName = "heavy-ball";
  static constexpr std::string_view kSummary = "SGD with heavy-ball momentum (Yu et al.)";

  bool follows() const override { return true; }
  void follow(UnitWeight& unit, const StepReport& step) const override {
    unit.momentum = momentum * unit.momentum + unit.gradient();
    unit.moved += step.learning_rate * (nesterov ? unit.gradient() + momentum * unit.momentum : unit.momentum);
  }
  StepReport step(Vector& m, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
