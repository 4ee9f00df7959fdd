#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "objectives/objective.hpp"

namespace fedstride {

/// FedProx (Li et al. 2020, Algorithm 2): a client minimises f_k(theta) + mu/2 |theta - theta_0|^2. Every step takes the pull in,
/// so momentum and ADADP's error estimate are those of this objective.
struct Proximal : PlainObjective {
  double mu = 0.01;

  static constexpr std::string_view kName = "prox";
  static constexpr std::string_view kSummary = "a pull towards the model received (FedProx; Li et al. 2020)";
  static constexpr std::string_view kMuHelp = "strength of the pull towards the model received, mu/2 |theta - theta_0|^2";
  static constexpr auto kFields = std::tuple{Field{"mu", &Proximal::mu, kMuHelp, kNonNegative}};

  double pull() const { return mu; }
};

}  // namespace fedstride
