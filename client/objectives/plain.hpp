#pragma once

#include "client/objectives/local_objective.hpp"

namespace fedstride {

/// Clients minimize only their loss (McMahan et al. 2017, Algorithm 1).
struct Plain final : ObjectiveBase<Plain> {
  static constexpr std::string_view kName = "plain";
  static constexpr std::string_view kSummary = "only the clients' loss (FedAvg; McMahan et al. 2017)";
};

}  // namespace fedstride
