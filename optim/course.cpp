#include "optim/course.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

ToleranceCourse ToleranceCourse::plan(std::string_view optimizer, const PoolPlan& plan, Course course, double share) {
  if (!(plan.start_norm > 0) || !std::isfinite(plan.start_norm))
    throw usage_error("the first weights have the norm " + number_text(plan.start_norm) + ", which optimizer '" +
                      std::string(optimizer) + "' takes as its unit; valid is a finite one above 0");
  const double steps = plan.steps_a_round * plan.rounds;
  if (!(steps >= 1))
    throw usage_error("optimizer '" + std::string(optimizer) + "' plans " + number_text(steps) +
                      " steps of a client; valid is 1 or more");
  const double mean_square = share * plan.clients_a_round / steps;
  const bool falls = course == Course::falling;
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

void take_told(std::string_view optimizer, std::span<const double> told, std::span<double> state) {
  const auto good = [](double number) { return number >= 0 && std::isfinite(number); };
  if (told.size() != state.size() || !std::ranges::all_of(told, good) || told[0] == 0)
    throw failure("the server told " + counted(told.size(), "number") +
                  (told.empty() ? "" : ", the first of them " + number_text(told[0])) + "; optimizer '" + std::string(optimizer) +
                  "' takes " + std::to_string(state.size()) +
                  ": a tolerance above 0, and else numbers from 0, all of them finite");
  std::ranges::copy(told, state.begin());
}

}  // namespace fedstride
