#pragma once

#include "client/objectives/local_objective.hpp"
#include "client/objectives/proximal.hpp"

namespace fedstride {

struct NormalizedSettings {
  double mu = 0;
  static constexpr auto kFields = fields(Field{"mu", &NormalizedSettings::mu, ProximalSettings::kMuHelp, kNonNegative});
};

/// FedNova (Wang et al. 2020, Equation 9 and Section 4.1): normalized averaging. Client k's change is its mean gradient times its
/// reach R_k = eta |a_k|_1, the distance that a constant gradient of 1 would have moved a weight in the same steps (UnitWeight):
/// the sum of the learning rates for SGD, the paper's closed forms for momentum and a pull. Clients send change / R_k; the
/// server's change is (sum p_k R_k) (sum p_k change_k / R_k), with the paper's default tau_eff. Thus clients with more steps do
/// not pull the model toward their own optimum. Weight decay is part of the loss and does not affect the reach.
struct Normalized final : ObjectiveBase<Normalized, NormalizedSettings> {
  static constexpr std::string_view kName = "nova";
  static constexpr std::string_view kSummary = "changes normalized by the accumulated step size (FedNova; Wang et al. 2020)";

  double pull() const override { return mu; }
  bool needs_reach() const override { return true; }
  bool scales() const override { return true; }
  ObjectiveScale scale(const ObjectiveEnd& round) const override { return {round.reach > 0 ? 1 / round.reach : 0, round.reach}; }
  void next(State&, const ObjectiveRound& round, std::span<float> change, std::span<const float> /*sent*/) const override {
    const auto reach = static_cast<float>(round.measure);
    for (float& value : change) value *= reach;
  }
};

}  // namespace fedstride
