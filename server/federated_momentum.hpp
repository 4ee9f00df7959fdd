#pragma once

#include "core/eigen.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

struct FederatedMomentumSettings {
  double server_learning_rate = 1;
  double server_momentum = 0.9;
  bool nesterov = false;
  static constexpr auto kFields =
      fields(Field{"server-learning-rate", &FederatedMomentumSettings::server_learning_rate, kServerRateHelp, kPositive},
             Field{"server-momentum", &FederatedMomentumSettings::server_momentum, "momentum beta, v = beta v + mean change",
                   Valid{.low = 0, .high = 1, .high_included = false}},
             Field{"server-nesterov", &FederatedMomentumSettings::nesterov,
                   "Nesterov's form: step by mean change + beta v instead of v"});
};

/// FedAvgM (Hsu, Qi & Brown 2019): v <- beta v + mean change, model += rate v, with v initially 0. With a constant
/// change, the model moves 1 / (1 - beta) times as far as with FedAvg at the same rate. With beta 0, this is FedAvg. Nesterov's
/// form looks one step ahead: model += rate (mean change + beta v).
struct FederatedMomentum final : ServerOptimizerBase<FederatedMomentum, FederatedMomentumSettings, Vector> {
  using ServerOptimizerBase::ServerOptimizerBase;
  static constexpr std::string_view kName = "momentum";
  static constexpr std::string_view kSummary = "FedAvg with momentum at the server (FedAvgM; Hsu et al. 2019)";

  void apply(Vector& velocity, Vector& model, const Vector& mean_change) const override {
    eigen(velocity) = static_cast<float>(server_momentum) * eigen(velocity) + eigen(mean_change);
    const auto rate = static_cast<float>(server_learning_rate);
    if (nesterov)
      eigen(model) += rate * (eigen(mean_change) + static_cast<float>(server_momentum) * eigen(velocity));
    else
      eigen(model) += rate * eigen(velocity);
  }
};

}  // namespace fedstride
