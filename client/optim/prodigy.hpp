#pragma once

#include "client/optim/adam.hpp"
#include "core/setting.hpp"

namespace fedstride {

struct ProdigySettings {
  double initial_distance = 1e-6;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;

  static constexpr auto kFields = fields(
      Field{"initial-distance", &ProdigySettings::initial_distance,
            "first estimate of the distance from the initial weights to the solution; the estimate only grows",
            Valid{.low = 1e-12, .high = 1e6}},
      Field{"beta1", &ProdigySettings::beta1, kBetaHelp, AdamSettings::kBeta},
      Field{"beta2", &ProdigySettings::beta2, kSquareBetaHelp, AdamSettings::kBeta},
      Field{"adam-epsilon", &ProdigySettings::epsilon, "added to the root of the mean square", Valid{.low = 1e-30, .high = 1e6}});
};

struct ProdigyState {
  Vector origin;  ///< x_0: the first model that the client received
  Vector mean;    ///< m below; square, direction and progress are v, s and r, all with d / d_0 in place of d
  Vector square;
  Vector direction;
  double progress = 0;
  double distance = 0;  ///< d, which is also the learning rate
  bool begun = false;
  void serialize(auto& archive) { archive(origin, mean, square, direction, progress, distance, begun); }
};

/// Prodigy (Mishchenko & Defazio 2024, the version for Adam, without weight decay, gamma = 1): Adam whose learning rate d is a
/// lower bound on |x_0 - x*| that only grows. Starting from d = initial-distance and zeros, with b3 = sqrt(beta2):
///   m <- beta1 m + (1 - beta1) d g,    v <- beta2 v + (1 - beta2) d^2 g^2
///   r <- b3 r + (1 - b3) d^2 <g, x_0 - x>,    s <- b3 s + (1 - b3) d^2 g
///   x <- x - d m / (sqrt(v) + d epsilon),    then d <- max(d, r / |s|_1)
/// No bias correction, as in the paper. d starts tiny and needs tens of steps to grow, so clients keep their state (four vectors
/// as long as the model) between rounds if all take part. Steps read gradients but no losses.
struct Prodigy final : OptimizerBase<Prodigy, ProdigySettings, ProdigyState> {
  using OptimizerBase::OptimizerBase;
  static constexpr std::string_view kName = "prodigy";
  static constexpr std::string_view kSummary = "Adam with an estimated rate (Mishchenko & Defazio 2024)";

  int gradients_per_step(Progress /*progress*/) const override { return 1; }
  bool keeps_state() const override { return true; }

  void start(State& state, std::size_t size) const override;
  double learning_rate(const State& state, Progress /*progress*/) const override { return state.distance; }
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
