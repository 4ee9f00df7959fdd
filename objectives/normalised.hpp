#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "objectives/objective.hpp"
#include "objectives/proximal.hpp"

namespace fedstride {

/// FedNova (Wang et al. 2020, Equation 9 and Section 4.1): normalised averaging. Client k's change is the mean of its gradients
/// times its reach R_k = eta |a_k|_1, the distance that a constant gradient of 1 would have moved a weight through the same steps
/// (UnitWeight): with SGD the sum of the rates, with momentum and a pull the paper's closed forms. Clients send change / R_k; the
/// server's change is (sum p_k R_k) (sum p_k change_k / R_k), the paper's default tau_eff. So clients that take more steps do
/// not pull the model towards their own optimum. Weight decay is part of the loss and changes no reach.
struct Normalised : PlainObjective {
  double mu = 0;

  static constexpr std::string_view kName = "nova";
  static constexpr std::string_view kSummary = "changes divided by how far the steps reach (FedNova; Wang et al. 2020)";
  static constexpr auto kFields = std::tuple{Field{"mu", &Normalised::mu, Proximal::kMuHelp, kNonNegative}};
  static constexpr bool kScales = true;

  double pull() const { return mu; }
  static bool needs_reach() { return true; }
  static ObjectiveScale scale(const ObjectiveEnd& round) { return {round.reach > 0 ? 1 / round.reach : 0, round.reach}; }
  static void next(State&, const ObjectiveRound& round, std::span<float> change, std::span<const float>) {
    const auto reach = static_cast<float>(round.measure);
    for (float& value : change) value *= reach;
  }
};

}  // namespace fedstride
