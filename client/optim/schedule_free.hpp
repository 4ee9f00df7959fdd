#pragma once

#include <cstdint>

#include "client/optim/optimizer.hpp"
#include "core/setting.hpp"

namespace fedstride {

struct ScheduleFreeSettings {
  double rate = 0.1;
  double interpolation = 0.9;

  static constexpr auto kFields =
      fields(Field{"learning-rate", &ScheduleFreeSettings::rate, kRateHelp, Valid{.low = 0, .high = 1e6, .low_included = false}},
             Field{"interpolation", &ScheduleFreeSettings::interpolation,
                   "beta; gradients are computed at (1 - beta) z + beta x, x being the average of the iterates z",
                   Valid{.low = 0, .high = 1}});
};

struct ScheduleFreeState {
  Vector iterate;           ///< z
  std::uint64_t steps = 0;  ///< of this round; 0: z must still be set to the model received
  void serialize(auto& archive) { archive(iterate, steps); }
};

/// Schedule-free SGD (Defazio et al. 2024, Equations 3 to 5). In step t = 1, 2, ... of a round, from x = z = the model received:
///   y = (1 - beta) z + beta x,   z <- z - rate grad f(y),   x <- (1 - c) x + c z,  c = 1 / (t + 1)
/// so x is the mean of the model received and the round's iterates z; the authors' code uses c = 1 / t, which omits the model
/// received. A client sends only the change of x. The server averages the clients' x; their z, which would drift apart, are
/// neither sent nor kept, so rounds are independent whatever client-state is. Steps read gradients but no losses.
struct ScheduleFree final : OptimizerBase<ScheduleFree, ScheduleFreeSettings, ScheduleFreeState> {
  using OptimizerBase::OptimizerBase;
  static constexpr std::string_view kName = "schedule-free";
  static constexpr std::string_view kSummary = "SGD that averages the iterates of a round (Defazio et al. 2024)";

  int gradients_per_step(Progress /*progress*/) const override { return 1; }

  void start(State& state, std::size_t size) const override;
  /// Begins a new round.
  void hear(State& state, std::span<const double> /*told*/) const override { state.steps = 0; }
  double learning_rate(const State& /*state*/, Progress /*progress*/) const override { return rate; }
  bool follows() const override { return true; }
  /// In the UnitWeight, `moved` is x, `momentum` is z, and `bias` is t + 1 after step t.
  void follow(UnitWeight& unit, const StepReport& step) const override {
    const double y = (1 - interpolation) * unit.momentum + interpolation * unit.moved;
    unit.momentum += step.learning_rate * (1 - unit.pull * y);
    unit.bias += 1;
    unit.moved += (unit.momentum - unit.moved) / unit.bias;
  }
  /// The scratch holds x while the weights are y.
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
