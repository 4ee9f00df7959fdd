#pragma once

#include "client/objectives/local_objective.hpp"

namespace fedstride {

struct DynamicSettings {
  double alpha = 0.01;
  static constexpr auto kFields = fields(
      Field{"dyn-alpha", &DynamicSettings::alpha, "FedDyn's alpha: strength of the pull and rate of the linear term", kPositive});
};

/// FedDyn (Acar et al. 2021, Algorithm 1): a client minimizes f_k(theta) - <h_k, theta> + alpha/2 |theta - theta_0|^2 and then
/// sets h_k <- h_k - alpha (theta_k - theta_0). The server updates h <- h - alpha sum_S p_k (theta_k - theta_0), where p_k is
/// client k's share of the total weight (1/N in the paper). The next model is the clients' mean model minus h / alpha.
struct Dynamic final : ObjectiveBase<Dynamic, DynamicSettings, Vector> {
  static constexpr std::string_view kName = "dyn";
  static constexpr std::string_view kSummary =
      "a learned linear term and a pull toward the model received (FedDyn; Acar et al. 2021)";

  bool keeps() const override { return true; }
  double pull() const override { return alpha; }
  void fixed(std::span<const float> kept, std::span<const float> /*heard*/, std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = -kept[i];
  }
  void end(const ObjectiveEnd& round) const override {
    const auto rate = static_cast<float>(alpha);
    for (std::size_t i = 0; i < round.kept.size(); ++i) round.kept[i] -= rate * round.change[i];
  }
  void next(Vector& h, const ObjectiveRound& round, std::span<float> change, std::span<const float> /*sent*/) const override {
    const auto rate = static_cast<float>(alpha * round.share);
    const auto inverse = static_cast<float>(1 / alpha);
    for (std::size_t i = 0; i < change.size(); ++i) {
      h[i] -= rate * change[i];
      change[i] -= inverse * h[i];
    }
  }
};

}  // namespace fedstride
