#pragma once

#include "client/optim/optimizer.hpp"
#include "core/setting.hpp"

namespace fedstride {

struct DogSettings {
  double initial_movement = 1e-6;

  static constexpr auto kFields = fields(Field{"initial-movement", &DogSettings::initial_movement,
                                               "length of the first step, relative to 1 + the initial weights' norm",
                                               Valid{.low = 0, .high = 1, .low_included = false}});
};

struct DogState {
  Vector origin;             ///< x_0: the first model that the client received
  double radius = 0;         ///< the largest distance from the origin so far; 0: no step yet
  double squares = 0;        ///< sum of squared gradient norms so far
  double learning_rate = 0;  ///< of the last step
  void serialize(auto& archive) { archive(origin, radius, squares, learning_rate); }
};

/// DoG, distance over gradients (Ivgi, Hinder & Carmon 2023, Equation (DoG)):
///   eta_t = max(r, max_{i <= t} |x_i - x_0|) / sqrt(sum_{i <= t} |g_i|^2),  r = initial-movement x (1 + |x_0|)
/// It has no learning rate to tune, and scaling the loss does not change its steps. The rate starts tiny and takes tens of steps
/// to grow, so clients keep their state between rounds if all take part (x_0 is a client's first model); otherwise every round
/// starts fresh and may need a larger initial-movement. Clients send their last iterate; the paper evaluates a running average of
/// the iterates, whereas this code averages only over clients. Steps read gradients but no losses.
struct Dog final : OptimizerBase<Dog, DogSettings, DogState> {
  using OptimizerBase::OptimizerBase;
  static constexpr std::string_view kName = "dog";
  static constexpr std::string_view kSummary = "rate from the distance moved over the gradients seen (DoG; Ivgi et al. 2023)";

  int gradients_per_step(Progress /*progress*/) const override { return 1; }
  bool keeps_state() const override { return true; }

  void start(State& state, std::size_t size) const override;
  bool rate_follows_gradient() const override { return true; }
  double learning_rate(const State& state, Progress /*progress*/) const override { return state.learning_rate; }
  bool follows() const override { return true; }
  void follow(UnitWeight& unit, const StepReport& step) const override { follow_rate(unit, step, 1); }
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
