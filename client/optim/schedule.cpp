#include "client/optim/schedule.hpp"

#include <algorithm>

namespace fedstride {

double Schedule::rate(Progress progress) const {
  const double epoch = progress.epoch;
  switch (schedule) {
    case RateSchedule::constant:
      break;
    case RateSchedule::linear: {
      const double way = std::min(epoch / schedule_epochs, 1.0);
      return (1 - way) * initial_rate + way * final_rate;
    }
    case RateSchedule::inverse:
      return initial_rate / (1 + epoch * decay);
  }
  return initial_rate;
}

}  // namespace fedstride
