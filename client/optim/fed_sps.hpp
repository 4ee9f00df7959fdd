#pragma once

#include "client/optim/optimizer.hpp"
#include "core/setting.hpp"

namespace fedstride {

struct FedSpsSettings {
  double c = 0.5;
  double max_rate = 1;

  static constexpr auto kFields = fields(
      Field{"sps-c", &FedSpsSettings::c, "c; a step's rate is the batch's loss / (c x squared norm of its gradient)", kPositive},
      Field{"max-rate", &FedSpsSettings::max_rate, "upper bound on the rate (gamma_b)",
            Valid{.low = 0, .high = 1e6, .low_included = false}});
};

struct FedSpsState {
  double learning_rate = 0;  ///< of the last step
  void serialize(auto& archive) { archive(learning_rate); }
};

/// FedSPS, the stochastic Polyak step size on every client (Mukherjee, Loizou & Stich 2024, Algorithm 1). With f the mean loss of
/// the step's batch and g its gradient, both from one pass:
///   eta = min((f(x) - l) / (c |g|^2), gamma_b),  where l = 0 is a lower bound on all losses;  x -= eta g
/// f is the batch's loss alone, so local objectives that add terms to the gradient are refused (sim/settings/rules.cpp).
/// Example-level privacy is also refused, since no release covers the loss.
struct FedSps final : OptimizerBase<FedSps, FedSpsSettings, FedSpsState> {
  using OptimizerBase::OptimizerBase;
  static constexpr std::string_view kName = "fedsps";
  static constexpr std::string_view kSummary = "Polyak step size: loss over squared gradient norm (Mukherjee et al. 2024)";

  int gradients_per_step(Progress /*progress*/) const override { return 1; }
  bool reads_losses() const override { return true; }
  bool rate_follows_gradient() const override { return true; }
  double learning_rate(const State& state, Progress /*progress*/) const override { return state.learning_rate; }
  bool follows() const override { return true; }
  void follow(UnitWeight& unit, const StepReport& step) const override { follow_rate(unit, step, 1); }
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
