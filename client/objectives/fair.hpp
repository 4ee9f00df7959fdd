#pragma once

#include <algorithm>
#include <cmath>

#include "client/objectives/local_objective.hpp"
#include "core/elementary.hpp"

namespace fedstride {

struct FairSettings {
  double q = 1;
  static constexpr auto kFields =
      fields(Field{"fairness-q", &FairSettings::q, "power q of a client's loss that weights its change; 0: federated averaging",
                   Valid{.low = 0, .high = 100}});
};

/// q-FedAvg (Li, Sanjabi, Beirami & Smith 2020, Algorithm 2): minimizes sum_k p_k F_k^(q+1) / (q+1), so clients with larger
/// losses count more. With F_k the client's loss at the model received, L the inverse of its learning rate and u_k = -L change_k:
///   change = -sum p_k F_k^q u_k / sum p_k (q F_k^(q-1) |u_k|^2 + L F_k^q)
/// A client sends F_k^q change_k and its term of the denominator, divided by L. With q = 0 this is federated averaging.
struct Fair final : ObjectiveBase<Fair, FairSettings> {
  static constexpr std::string_view kName = "fair";
  static constexpr std::string_view kSummary = "clients with larger losses count more (q-FedAvg; Li et al. 2020)";

  bool needs_start() const override { return true; }
  bool scales() const override { return true; }
  ObjectiveScale scale(const ObjectiveEnd& round) const override {
    constexpr double kLeastLoss = 1e-10;  // at 0, F^(q-1) would be infinite for q < 1
    const double loss = std::max(round.start_loss, kLeastLoss);
    const double power = portable::pow(loss, q);
    double square = 0;
    for (const float value : round.change) square += static_cast<double>(value) * static_cast<double>(value);
    const double lipschitz = round.rate > 0 ? 1 / round.rate : 0;
    return {power, q * power / loss * lipschitz * square + power};
  }
  void next(State&, const ObjectiveRound& round, std::span<float> change, std::span<const float> /*sent*/) const override {
    const auto inverse = static_cast<float>(round.measure > 0 ? 1 / round.measure : 0);
    for (float& value : change) value *= inverse;
  }
};

}  // namespace fedstride
