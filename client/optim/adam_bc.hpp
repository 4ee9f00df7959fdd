#pragma once

#include "client/optim/adam.hpp"

namespace fedstride {

struct AdamBcSettings : Schedule {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double floor = 1e-8;
  static constexpr auto kFields =
      fields(Schedule::kFields, Field{"beta1", &AdamBcSettings::beta1, kBetaHelp, AdamSettings::kBeta},
             Field{"beta2", &AdamBcSettings::beta2, kSquareBetaHelp, AdamSettings::kBeta},
             Field{"noise-floor", &AdamBcSettings::floor, "lower bound on the mean squared gradient less the noise's variance",
                   Valid{.low = 1e-30, .high = 1e6}});
};

struct AdamBcState : AdamState {
  double noise = 0;  ///< mean variance of the noise in a coordinate, biased like `square`
  void serialize(auto& archive) {
    AdamState::serialize(archive);
    archive(noise);
  }
};

/// DP-AdamBC (Tang, Shpilevskiy & Lecuyer 2024): Adam without the noise's share of the mean square. With m, v and t as in Adam
/// and noise of variance s_t^2 = (z_t C_t / lot)^2 in each coordinate of the gradient, as added on release,
///   phi <- beta2 phi + (1 - beta2) s_t^2
///   weights -= rate m / (1 - beta1^t) / sqrt(max((v - phi) / (1 - beta2^t), gamma'))
/// With the paper's constant noise, phi / (1 - beta2^t) is s^2. Without noise, s = 0, which gives Adam with a floor in the root
/// instead of epsilon.
struct AdamBc final : ScheduledOptimizer<AdamBc, AdamBcSettings, AdamBcState> {
  AdamBc() { initial_rate = 1e-3, final_rate = 1e-4; }
  static constexpr std::string_view kName = "adambc";
  static constexpr std::string_view kSummary =
      "Adam with its second moment corrected for the noise (DP-AdamBC; Tang et al. 2024)";

  void start(State& state, std::size_t size) const override;
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
