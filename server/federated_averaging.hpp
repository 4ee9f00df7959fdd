#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// model + rate x mean change: with rate 1 the weighted mean of the clients' models (McMahan et al. 2017, Algorithm 1).
struct FederatedAveraging {
  static constexpr std::string_view kName = "average";
  static constexpr std::string_view kSummary = "the mean of the clients' models (FedAvg; McMahan et al. 2017)";
  double server_learning_rate = 1;
  static constexpr auto kFields = std::tuple{Field{"server-learning-rate", &FederatedAveraging::server_learning_rate,
                                                   "factor on the mean change of a round; 1 is federated averaging", kPositive}};

  struct State {
    template <class Archive>
    void serialize(Archive&) {}
  };

  void start(State&, std::size_t /*size*/) const {}
  void apply(State& state, Vector& model, const Vector& mean_change) const;
};

}  // namespace fedstride
