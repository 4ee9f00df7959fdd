#pragma once

#include "client/optim/optimizer.hpp"
#include "core/setting.hpp"

namespace fedstride {

inline constexpr std::string_view kBetaHelp = "decay of the average gradient, m = beta1 m + (1 - beta1) g";

enum class RateSchedule { constant, linear, inverse };
constexpr auto choice_names(RateSchedule) { return names("constant", "linear", "inverse"); }

/// The learning rate of a non-adaptive optimizer, for mean gradients, as a function of the local epochs k completed so far:
///   constant  A
///   linear    from A at k = 0 to B at k = E, then B (Abadi et al. 2016: 0.1 to 0.052 over 10 epochs); epoch E + 1 is the first
///             at rate B, whereas the server's schedule (server/server_schedule.hpp) reaches its final value in round R
///   inverse   A / (1 + k decay)
/// Weight decay adds weight-decay x weights to the gradient of the loss.
struct Schedule {
  double initial_rate = 0.01;
  RateSchedule schedule = RateSchedule::constant;
  double final_rate = 0.001;
  int schedule_epochs = 10;
  double decay = 0.1;
  double weight_decay = 0;

  bool is_linear() const { return schedule == RateSchedule::linear; }
  bool is_inverse() const { return schedule == RateSchedule::inverse; }
  static constexpr Valid kRate{.low = 0, .high = 1e6, .low_included = false};
  static constexpr auto kFields =
      fields(Field{"learning-rate", &Schedule::initial_rate, kRateHelp, kRate},
             Field{"schedule", &Schedule::schedule, "how the rate changes over local epochs"},
             Field{"final-learning-rate", &Schedule::final_rate, "linear: the final rate", Valid{.low = 0, .high = 1e6},
                   Shapes::model, &Schedule::is_linear},
             Field{"schedule-epochs", &Schedule::schedule_epochs,
                   "linear: local epochs E until the final rate, which epoch E + 1 is the first to use", kAtLeastOne,
                   Shapes::model, &Schedule::is_linear},
             Field{"decay", &Schedule::decay, kDecayHelp, kNonNegative, Shapes::model, &Schedule::is_inverse},
             Field{"weight-decay", &Schedule::weight_decay,
                   "L2 weight decay: this factor times the weights is added to their gradient", kNonNegative});

  double rate(Progress progress) const;
};

/// The base of an optimizer with a schedule; Settings is Schedule or derives from it.
template <class Self, class Settings = Schedule, class State = NoState>
struct ScheduledOptimizer : OptimizerBase<Self, Settings, State> {
  using OptimizerBase<Self, Settings, State>::OptimizerBase;
  int gradients_per_step(Progress /*progress*/) const final { return 1; }
  double weight_decay_factor() const final { return this->weight_decay; }
  double learning_rate(const State& /*state*/, Progress progress) const final { return this->rate(progress); }
};

}  // namespace fedstride
