#pragma once

#include "client/objectives/local_objective.hpp"

namespace fedstride {

struct ProximalSettings {
  double mu = 0.01;
  static constexpr std::string_view kMuHelp = "strength of the pull toward the model received, mu/2 |theta - theta_0|^2";
  static constexpr auto kFields = fields(Field{"mu", &ProximalSettings::mu, kMuHelp, kNonNegative}.often());
};

/// FedProx (Li et al. 2020, Algorithm 2): a client minimizes f_k(theta) + mu/2 |theta - theta_0|^2. Every step's gradient
/// includes the pull, so momentum and ADADP's error estimate refer to this objective.
struct Proximal final : ObjectiveBase<Proximal, ProximalSettings> {
  static constexpr std::string_view kName = "prox";
  static constexpr std::string_view kSummary = "a pull toward the model received (FedProx; Li et al. 2020)";

  double pull() const override { return mu; }
};

}  // namespace fedstride
