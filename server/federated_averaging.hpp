#pragma once

#include "core/eigen.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

struct FederatedAveragingSettings {
  double server_learning_rate = 1;
  static constexpr auto kFields = fields(
      Field{"server-learning-rate", &FederatedAveragingSettings::server_learning_rate, kServerRateHelp, kPositive}.often());
};

/// model + rate x mean change; at rate 1, the weighted mean of the clients' models (McMahan et al. 2017, Algorithm 1).
struct FederatedAveraging final : ServerOptimizerBase<FederatedAveraging, FederatedAveragingSettings> {
  using ServerOptimizerBase::ServerOptimizerBase;
  static constexpr std::string_view kName = "average";
  static constexpr std::string_view kSummary = "the mean of the clients' models (FedAvg; McMahan et al. 2017)";

  void apply(State&, Vector& model, const Vector& mean_change) const override {
    eigen(model) += static_cast<float>(server_learning_rate) * eigen(mean_change);
  }
};

}  // namespace fedstride
