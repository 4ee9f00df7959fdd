#pragma once

#include "optim/schedule.hpp"

namespace fedstride {

/// weights -= rate g, for each stretch of g while it is in the cache.
void sgd_step(Vector& weights, Gradient gradient, double rate);

/// Stochastic gradient descent: weights -= rate g. Updates the weights while each stretch of g is in the cache.
struct Sgd : Schedule {
  static constexpr std::string_view kName = "sgd";
  static constexpr std::string_view kSummary = "stochastic gradient descent";
  static constexpr auto kFields = kScheduleFields;
  static constexpr int kGradientsPerStep = 1;
  static constexpr bool kKeepsState = false;

  struct State {
    template <class Archive>
    void serialize(Archive&) {}
  };
  struct Scratch {};

  void start(State&, std::size_t) const {}
  double learning_rate(const State&, Progress progress) const { return rate(progress); }
  static void follow(UnitWeight& unit, const StepReport& step) { follow_rate(unit, step, 1); }
  StepReport step(State&, Scratch&, Vector& weights, Gradient gradient, Progress progress) const;
};

}  // namespace fedstride
