#include "client/optim/tolerance_schedule.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

ToleranceCourse ToleranceCourse::plan(std::string_view optimizer, const PoolPlan& plan, ToleranceSchedule course, double share) {
  if (!(plan.start_norm > 0) || !std::isfinite(plan.start_norm))
    throw usage_error("the initial weights have norm " + number_text(plan.start_norm) + "; optimizer '" + std::string(optimizer) +
                      "' needs a finite norm above 0; 'sgd' does not (--optimizer)");
  const double steps = plan.steps_a_round * plan.rounds;
  if (!(steps >= 1))
    throw usage_error("optimizer '" + std::string(optimizer) + "' plans " + number_text(steps) +
                      " steps per client; there must be at least 1");
  const double mean_square = share * plan.clients_a_round / steps;
  const bool falls = course == ToleranceSchedule::linear;
  return {
      .scale = plan.start_norm * std::sqrt((falls ? 3 : 1) * mean_square), .last = falls ? 1 / steps : 1, .rounds = plan.rounds};
}

std::array<double, 2> ToleranceCourse::of_round(std::uint32_t round) const {
  const auto after = [&](std::uint32_t done) {
    const double left = scale * std::max(1 - static_cast<double>(done) / rounds, last);
    return limit > 0 ? std::min(left, limit) : left;
  };
  return {after(round - 1), after(round)};
}

std::array<double, 2> ToleranceCourse::left_in(std::uint32_t round) const {
  const auto left = [&](std::uint32_t done) {
    return last == 1 ? 1 : std::max(1 - static_cast<double>(done) / rounds, round <= rounds ? 0 : last);
  };
  return {left(round - 1), left(round)};
}

void take_told(std::string_view optimizer, std::span<const double> told, std::span<double> state) {
  const auto good = [](double number) { return number >= 0 && std::isfinite(number); };
  if (told.size() != state.size() || !std::ranges::all_of(told, good) || told[0] == 0)
    throw failure("the server sent " + counted(told.size(), "number") +
                  (told.empty() ? "" : ", the first of them " + number_text(told[0])) + "; optimizer '" + std::string(optimizer) +
                  "' needs " + std::to_string(state.size()) + " finite numbers: a tolerance above 0, and the rest at least 0");
  std::ranges::copy(told, state.begin());
}

}  // namespace fedstride
