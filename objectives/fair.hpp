#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "objectives/objective.hpp"

namespace fedstride {

/// q-FedAvg (Li, Sanjabi, Beirami & Smith 2020, Algorithm 2): minimises sum_k p_k F_k^(q+1) / (q+1), so that clients of large loss
/// count for more. With F_k the client's loss at the model received, L the inverse of its learning rate and u_k = -L change_k:
///   change = -sum p_k F_k^q u_k / sum p_k (q F_k^(q-1) |u_k|^2 + L F_k^q)
/// A client sends F_k^q change_k, and its part of the denominator over L. q = 0 is federated averaging.
struct Fair : PlainObjective {
  double q = 1;

  static constexpr std::string_view kName = "fair";
  static constexpr std::string_view kSummary = "clients of larger loss count for more (q-FedAvg; Li et al. 2020)";
  static constexpr auto kFields =
      std::tuple{Field{"fairness-q", &Fair::q, "power q of a client's loss by which its change counts; 0: federated averaging",
                       Valid{.low = 0, .high = 100}}};
  static constexpr bool kScales = true;

  static bool needs_start() { return true; }
  ObjectiveScale scale(const ObjectiveEnd& round) const;
  static void next(State&, const ObjectiveRound& round, std::span<float> change, std::span<const float>);
};

}  // namespace fedstride
