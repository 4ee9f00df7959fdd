#pragma once

#include <algorithm>
#include <cstdint>

#include "core/choice.hpp"

namespace fedstride {

enum class ServerScheduleShape { constant, linear, inverse, noise };
constexpr auto choice_names(ServerScheduleShape) { return names("constant", "linear", "inverse", "noise"); }

/// The server's learning rate over the rounds, as a factor on the step of any server optimizer:
///   constant  1
///   linear    linearly from 1 in round 1 to `last` in round `rounds`, then `last`; in contrast, a local optimizer's schedule
///             (client/optim/schedule.hpp) reaches its final rate only in epoch E + 1
///   inverse   1 / (1 + (round - 1) decay)
///   noise     first (1 - (round - 1) / rounds), then 0: multiplies the mean update itself, so only the product of `first` and
///             the update's length matters
/// Except for noise, the schedule does not affect the server optimizer's state.
struct ServerSchedule {
  ServerScheduleShape course = ServerScheduleShape::constant;
  double first = 1;
  double last = 0.1;
  int rounds = 100;
  double decay = 0.01;

  bool is_on_update() const { return course == ServerScheduleShape::noise; }
  double factor(std::uint32_t round) const {
    const double before = round - 1.0;
    if (course == ServerScheduleShape::noise) return first * std::max(0.0, 1 - before / rounds);
    if (course == ServerScheduleShape::inverse) return 1 / (1 + before * decay);
    if (course == ServerScheduleShape::constant) return 1;
    const double share = rounds > 1 ? std::min(1.0, before / (rounds - 1.0)) : 1;
    return 1 + share * (last - 1);
  }
};

}  // namespace fedstride
