#pragma once

#include <algorithm>
#include <cstdint>

#include "core/choice.hpp"

namespace fedstride {

enum class ServerCourse { constant, linear, inverse };
constexpr auto choice_names(ServerCourse) { return names("constant", "linear", "inverse"); }

/// The server's rate over the rounds, as a factor on the step of any server optimiser:
///   constant  1
///   linear    from 1 in round 1 in a line to `last` in round `rounds`, then `last`; an optimizer's schedule (optim/schedule.hpp) has
///             its end after so many epochs, one later
///   inverse   1 / (1 + (round - 1) decay)
/// A server optimiser's state does not know of it.
struct ServerSchedule {
  ServerCourse course = ServerCourse::constant;
  double last = 0.1;
  int rounds = 100;
  double decay = 0.01;

  double factor(std::uint32_t round) const {
    const double before = round - 1.0;
    if (course == ServerCourse::inverse) return 1 / (1 + before * decay);
    if (course == ServerCourse::constant) return 1;
    const double share = rounds > 1 ? std::min(1.0, before / (rounds - 1.0)) : 1;
    return 1 + share * (last - 1);
  }
};

}  // namespace fedstride
