#pragma once

#include <string_view>
#include <tuple>

#include "objectives/objective.hpp"

namespace fedstride {

/// The clients' loss alone (McMahan et al. 2017, Algorithm 1).
struct Plain : PlainObjective {
  static constexpr std::string_view kName = "plain";
  static constexpr std::string_view kSummary = "the clients' loss alone (FedAvg; McMahan et al. 2017)";
  static constexpr auto kFields = std::tuple{};
};

}  // namespace fedstride
