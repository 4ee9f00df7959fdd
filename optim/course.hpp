#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/choice.hpp"
#include "core/pooled_statistic.hpp"
#include "core/serialize.hpp"
#include "optim/optimizer.hpp"

namespace fedstride {

// The tolerance of an adaptive rule over a run, made from public facts alone: the norm of the first weights and the numbers of
// clients and steps.

enum class Course { falling, constant };
constexpr auto choice_names(Course) { return names("falling", "constant"); }
inline constexpr std::string_view kCourseHelp =
    "tolerance over the rounds: falling to 0 in a line, or constant with the same noise in all";

/// With T steps of a client, M clients a round, theta_0 the first weights, t the step: the tolerance at which the noise of all
/// steps together moves the averaged weights by |theta_0| sqrt(share):
///   constant  |theta_0| sqrt(share M / T)
///   falling   |theta_0| sqrt(3 share M / T) (1 - t/T)
/// (docs/adaptive.md derives it). After the planned rounds it stays that of the last step.
struct ToleranceCourse {
  double scale = 0;          ///< at t = 0
  double limit = 0;          ///< of every tolerance; 0: none
  double last = 0;           ///< the part left at the last step: 1/T, or 1 if it is constant
  std::uint32_t rounds = 0;  ///< over which it falls
  template <class Archive>
  void serialize(Archive& archive) {
    archive(scale, limit, last, rounds);
  }

  /// Throws Error (usage), naming the optimiser, for first weights that are all 0 or a run without steps.
  static ToleranceCourse plan(std::string_view optimizer, const PoolPlan& plan, Course course, double share);
  /// At the beginning of a round, from 1, and at its end.
  std::array<double, 2> of_round(std::uint32_t round) const;
};

/// The tolerance within a round. `told` has those at its beginning and end.
inline double tolerance_within(std::span<const double> told, Progress progress) {
  return told[0] + (told[1] - told[0]) * progress.of_round;
}

/// Takes what the server told: a tolerance above 0, another from 0, and whatever else from 0. Throws Error (failure) unless the
/// numbers are as many as the state's and finite.
void take_told(std::string_view optimizer, std::span<const double> told, std::span<double> state);

}  // namespace fedstride
