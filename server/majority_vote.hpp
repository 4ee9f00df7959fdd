#pragma once

#include "server/server_optimizer.hpp"

namespace fedstride {

struct MajorityVoteSettings {
  double server_learning_rate = 0.001;
  static constexpr auto kFields =
      fields(Field{"server-learning-rate", &MajorityVoteSettings::server_learning_rate, kServerRateHelp, kPositive});
};

/// model += rate sign(mean change), where sign(0) = 0, so the rate is the size of each parameter's step in a round. If clients of
/// equal weight send signs of one magnitude (compress-up sign with up-magnitude), this is signSGD with majority vote (Bernstein,
/// Wang, Azizzadenesheli & Anandkumar 2018, Algorithm 1).
struct MajorityVote final : ServerOptimizerBase<MajorityVote, MajorityVoteSettings> {
  static constexpr std::string_view kName = "sign";
  static constexpr std::string_view kSummary =
      "steps by the sign of each parameter's mean change (majority vote; Bernstein et al. 2018)";

  void apply(State&, Vector& model, const Vector& mean_change) const override {
    const auto rate = static_cast<float>(server_learning_rate);
    for (std::size_t i = 0; i < model.size(); ++i)
      model[i] += rate * static_cast<float>((mean_change[i] > 0) - (mean_change[i] < 0));
  }
};

}  // namespace fedstride
