#pragma once

#include <tuple>

#include "core/setting.hpp"
#include "optim/optimizer.hpp"

namespace fedstride {

enum class RateSchedule { constant, linear, inverse };
constexpr auto choice_names(RateSchedule) { return names("constant", "linear", "inverse"); }

/// The learning rates of an optimiser that does not adapt its own, in mean-gradient unit, as a function of the local
/// epochs k finished so far:
///   constant  A
///   linear    from A at k = 0 to B at k = E, then B (Abadi et al. 2016: 0.1 to 0.052 over 10 epochs); so E epochs have another rate
///             than B, unlike the server's schedule (server/server_schedule.hpp), whose round R is the first at its end
///   inverse   A / (1 + k decay)
/// and the weight decay, which such an optimiser has too: the gradient is that of the loss plus weight-decay x weights.
struct Schedule {
  double initial_rate = 0.01;
  RateSchedule schedule = RateSchedule::constant;
  double final_rate = 0.001;
  int schedule_epochs = 10;
  double decay = 0.1;
  double weight_decay = 0;

  static constexpr Valid kRate{.low = 0, .high = 1e6, .low_included = false};
  static constexpr auto kScheduleFields = std::tuple{
      Field{"learning-rate", &Schedule::initial_rate, "step size for the mean gradient of a batch; where it starts", kRate},
      Field{"schedule", &Schedule::schedule, "course of the rate over local epochs"},
      Field{"final-learning-rate", &Schedule::final_rate, "linear: the final rate", Valid{.low = 0, .high = 1e6}},
      Field{"schedule-epochs", &Schedule::schedule_epochs,
            "linear: local epochs after which the final rate holds: epoch E + 1 is the first that has it", kAtLeastOne},
      Field{"decay", &Schedule::decay, "inverse: rate / (1 + epochs x decay)", kNonNegative},
      Field{"weight-decay", &Schedule::weight_decay, "factor of the weights that is added to their gradient (L2)", kNonNegative},
  };

  double rate(Progress progress) const;
};

}  // namespace fedstride
