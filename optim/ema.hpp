#pragma once

#include "optim/schedule.hpp"

namespace fedstride {

/// Exponential average of the gradients, debiased (Hong, Wang & Zhou, Algorithm 2; t counts steps from 1):
///   v <- beta v + (1 - beta) g, v = 0 at the start;  weights -= rate v / (1 - beta^t)
struct Ema : Schedule {
  double beta = 0.9;

  static constexpr std::string_view kName = "ema";
  static constexpr std::string_view kSummary = "SGD on a debiased exponential average of the gradients (Hong et al.)";
  static constexpr auto kFields = std::tuple_cat(
      kScheduleFields, std::tuple{Field{"beta1", &Ema::beta, "share of the average that stays, v = beta1 v + (1 - beta1) g",
                                        Valid{.low = 0, .high = 1, .high_included = false}}});
  static constexpr int kGradientsPerStep = 1;
  static constexpr bool kKeepsState = false;

  struct State {
    Vector average;
    double bias = 1;  ///< beta^t
    template <class Archive>
    void serialize(Archive& archive) {
      archive(average, bias);
    }
  };
  struct Scratch {};

  void start(State& state, std::size_t size) const;
  double learning_rate(const State&, Progress progress) const { return rate(progress); }
  void follow(UnitWeight& unit, const StepReport& step) const {
    unit.bias *= beta;
    unit.momentum = beta * unit.momentum + (1 - beta) * unit.gradient();
    unit.moved += step.learning_rate * unit.momentum / (1 - unit.bias);
  }
  StepReport step(State& state, Scratch&, Vector& weights, Gradient gradient, Progress progress) const;
};

}  // namespace fedstride
