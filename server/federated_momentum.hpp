#pragma once

#include <string_view>
#include <tuple>

#include "core/serialize.hpp"
#include "core/setting.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// FedAvgM (Hsu, Qi & Brown 2019): v <- beta v + mean change, model += rate v, v = 0 at the start. A constant change moves
/// the model 1 / (1 - beta) times as far as FedAvg at the same rate does. With beta 0 it is FedAvg. Nesterov's form looks a step
/// ahead: model += rate (mean change + beta v).
struct FederatedMomentum {
  static constexpr std::string_view kName = "momentum";
  static constexpr std::string_view kSummary = "FedAvg with momentum at the server (FedAvgM; Hsu et al. 2019)";
  double server_learning_rate = 1;
  double server_momentum = 0.9;
  bool nesterov = false;
  static constexpr auto kFields =
      std::tuple{Field{"server-learning-rate", &FederatedMomentum::server_learning_rate,
                       "factor on the mean change of a round; 1 is federated averaging", kPositive},
                 Field{"server-momentum", &FederatedMomentum::server_momentum,
                       "share beta of the rounds before that stays, v = beta v + mean change",
                       Valid{.low = 0, .high = 1, .high_included = false}},
                 Field{"server-nesterov", &FederatedMomentum::nesterov, "the step is mean change + beta v instead of v"}};

  struct State {
    Vector velocity;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(velocity);
    }
  };

  void start(State& state, std::size_t size) const { state.velocity.assign(size, 0); }
  void apply(State& state, Vector& model, const Vector& mean_change) const;
};

}  // namespace fedstride
