#pragma once

#include "optim/schedule.hpp"

namespace fedstride {

/// Heavy-ball momentum (Yu, Zhang & Chen, Algorithm 1): m <- c m + g, weights -= rate m, m = 0 at the start.
/// With Nesterov's form weights -= rate (g + c m), as PyTorch computes it.
/// A constant gradient moves the weights 1/(1 - c) times as far as SGD at the same rate does.
struct HeavyBall : Schedule {
  double momentum = 0.6;
  bool nesterov = false;

  static constexpr std::string_view kName = "heavy-ball";
  static constexpr std::string_view kSummary = "SGD with heavy-ball momentum (Yu et al.)";
  static constexpr auto kFields = std::tuple_cat(
      kScheduleFields, std::tuple{Field{"momentum", &HeavyBall::momentum,
                                        "share c of the last direction that stays, m = c m + g; 0.6 is Yu et al.'s, 0.9 usual",
                                        Valid{.low = 0, .high = 1, .high_included = false}},
                                  Field{"nesterov", &HeavyBall::nesterov, "step along g + c m (Nesterov) instead of m"}});
  static constexpr int kGradientsPerStep = 1;
  static constexpr bool kKeepsState = false;

  struct State {
    Vector momentum;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(momentum);
    }
  };
  struct Scratch {};

  void start(State& state, std::size_t size) const { state.momentum.assign(size, 0); }
  double learning_rate(const State&, Progress progress) const { return rate(progress); }
  void follow(UnitWeight& unit, const StepReport& step) const {
    unit.momentum = momentum * unit.momentum + unit.gradient();
    unit.moved += step.learning_rate * (nesterov ? unit.gradient() + momentum * unit.momentum : unit.momentum);
  }
  StepReport step(State& state, Scratch&, Vector& weights, Gradient gradient, Progress progress) const;
};

}  // namespace fedstride
