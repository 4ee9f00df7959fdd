#pragma once

#include "client/optim/schedule.hpp"

namespace fedstride {

/// weights -= rate g, for each stretch of g while it is in cache.
void sgd_step(Vector& weights, Gradient gradient, double rate);

/// Stochastic gradient descent: weights -= rate g.
struct Sgd final : ScheduledOptimizer<Sgd> {
  static constexpr std::string_view kName = "sgd";
  static constexpr std::string_view kSummary = "stochastic gradient descent";

  bool follows() const override { return true; }
  void follow(UnitWeight& unit, const StepReport& step) const override { follow_rate(unit, step, 1); }
  StepReport step(NoState&, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
