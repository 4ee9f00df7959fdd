#include "optim/schedule.hpp"

#include <algorithm>

namespace fedstride {
namespace {

struct Formula {
  std::string_view name;
  double (*rate)(const Schedule&, double epoch);
};

constexpr Formula kFormulas[] = {
    {"constant", [](const Schedule& of, double) { return of.initial_rate; }},
    {"linear",
     [](const Schedule& of, double epoch) {
       const double way = std::min(epoch / of.schedule_epochs, 1.0);
       return (1 - way) * of.initial_rate + way * of.final_rate;
     }},
    {"inverse", [](const Schedule& of, double epoch) { return of.initial_rate / (1 + epoch * of.decay); }},
};

}  // namespace

double Schedule::rate(Progress progress) const {
  for (const Formula& formula : kFormulas)
    if (formula.name == schedule) return formula.rate(*this, progress.epoch);
  throw usage_error("schedule '" + schedule + "' is unknown; valid: constant, linear, inverse");
}

}  // namespace fedstride
