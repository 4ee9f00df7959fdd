#pragma once

#include <cmath>

#include "server/server_optimizer.hpp"

namespace fedstride {

/// Settings and state shared by the three adaptive servers.
struct FederatedAdaptive {
  double server_learning_rate = 0.0316;
  double beta1 = 0.9;
  double tau = 1e-3;

  static constexpr Valid kShare{.low = 0, .high = 1, .high_included = false};
  static constexpr auto kFields = fields(
      Field{"server-learning-rate", &FederatedAdaptive::server_learning_rate, kServerRateHelp, kPositive},
      Field{"server-beta1", &FederatedAdaptive::beta1, "decay of the average change, m = beta1 m + (1 - beta1) change", kShare},
      Field{"server-tau", &FederatedAdaptive::tau,
            "added to the root of v, in units of a weight's change; larger values approach plain averaging", kPositive});

  struct State {
    Vector average;  ///< m
    Vector squares;  ///< v
    void serialize(auto& archive) { archive(average, squares); }
  };
};

/// Settings of the servers whose v decays.
struct FederatedForgetting : FederatedAdaptive {
  double beta2 = 0.99;
  static constexpr auto kFields = fields(
      FederatedAdaptive::kFields, Field{"server-beta2", &FederatedForgetting::beta2, "decay of v from round to round", kShare});
};

/// The three adaptive servers of Reddi et al. 2021 (ICLR), Algorithm 2, as printed:
///   m <- beta1 m + (1 - beta1) D,  v by the server's own rule,  model += rate m / (sqrt(v) + tau)
/// for the mean change D, starting from m = 0 and v = tau^2. There is no bias correction, and tau is outside the root. Programs
/// that start from v = 0, correct m and v, or put tau inside the root take different first steps.
template <class Self, class Settings>
struct AdaptiveServerBase : ServerOptimizerBase<Self, Settings, FederatedAdaptive::State> {
  using State = FederatedAdaptive::State;
  using ServerOptimizerBase<Self, Settings, State>::ServerOptimizerBase;

  void start(State& state, std::size_t size) const final {
    state.average.assign(size, 0);
    state.squares.assign(size, static_cast<float>(this->tau * this->tau));
  }

 protected:
  /// Takes one step, with v <- next_square(v, D^2).
  void step(State& state, Vector& model, const Vector& mean_change, auto next_square) const {
    const auto stays = static_cast<float>(this->beta1);
    const auto enters = static_cast<float>(1 - this->beta1);
    const auto rate = static_cast<float>(this->server_learning_rate);
    const auto offset = static_cast<float>(this->tau);
    float* __restrict weights = model.data();
    float* __restrict average = state.average.data();
    float* __restrict squares = state.squares.data();
    const float* __restrict change = mean_change.data();
    for (std::size_t i = 0; i < model.size(); ++i) {
      average[i] = stays * average[i] + enters * change[i];
      squares[i] = next_square(squares[i], change[i] * change[i]);
      weights[i] += rate * average[i] / (std::sqrt(squares[i]) + offset);
    }
  }
};

/// v <- v + D^2. The paper uses beta1 = 0.
struct FederatedAdagrad final : AdaptiveServerBase<FederatedAdagrad, FederatedAdaptive> {
  static constexpr std::string_view kName = "adagrad";
  static constexpr std::string_view kSummary = "adaptive server that sums squared changes (FedAdagrad; Reddi et al. 2021)";
  FederatedAdagrad() { beta1 = 0; }

  void apply(State& state, Vector& model, const Vector& mean_change) const override {
    step(state, model, mean_change, [](float square, float entering) { return square + entering; });
  }
};

/// v <- beta2 v + (1 - beta2) D^2
struct FederatedAdam final : AdaptiveServerBase<FederatedAdam, FederatedForgetting> {
  static constexpr std::string_view kName = "adam";
  static constexpr std::string_view kSummary = "adaptive server that averages squared changes (FedAdam; Reddi et al. 2021)";

  void apply(State& state, Vector& model, const Vector& mean_change) const override {
    const auto stays = static_cast<float>(beta2);
    const auto enters = static_cast<float>(1 - beta2);
    step(state, model, mean_change, [=](float square, float entering) { return stays * square + enters * entering; });
  }
};

/// v <- v - (1 - beta2) D^2 sign(v - D^2): grows like Adam's v but falls more slowly.
struct FederatedYogi final : AdaptiveServerBase<FederatedYogi, FederatedForgetting> {
  static constexpr std::string_view kName = "yogi";
  static constexpr std::string_view kSummary =
      "adaptive server that updates its second moment additively (FedYogi; Reddi et al. 2021)";

  void apply(State& state, Vector& model, const Vector& mean_change) const override {
    const auto enters = static_cast<float>(1 - beta2);
    step(state, model, mean_change, [=](float square, float entering) {
      const float sign = square > entering ? 1.0F : square < entering ? -1.0F : 0.0F;
      return square - enters * entering * sign;
    });
  }
};

}  // namespace fedstride
