#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "client/optim/optimizer.hpp"
#include "core/choice.hpp"
#include "core/pooled_statistic.hpp"

namespace fedstride {

// The tolerance of an adaptive optimizer over a run, computed only from public facts: the norm of the initial weights and the
// numbers of clients and steps.

enum class ToleranceSchedule { linear, constant };
constexpr auto choice_names(ToleranceSchedule) { return names("linear", "constant"); }
inline constexpr std::string_view kToleranceScheduleHelp =
    "tolerance over the rounds: linear (falling to 0), or constant with the same total noise";

/// The tolerance with which the noise of all steps together moves the averaged weights by |theta_0| sqrt(share), for T steps per
/// client, M clients per round, initial weights theta_0 and step t:
///   constant  |theta_0| sqrt(share M / T)
///   linear    |theta_0| sqrt(3 share M / T) (1 - t/T)
/// (derived in docs/adaptive.md). After the planned rounds, the tolerance keeps its value of the last step.
struct ToleranceCourse {
  double scale = 0;          ///< at t = 0
  double limit = 0;          ///< upper bound on every tolerance; 0: none
  double last = 0;           ///< fraction of `scale` at the last step: 1/T, or 1 if constant
  std::uint32_t rounds = 0;  ///< rounds over which the tolerance falls
  void serialize(auto& archive) { archive(scale, limit, last, rounds); }

  /// Throws Error (usage), naming the optimizer, if all initial weights are 0 or the run has no steps.
  static ToleranceCourse plan(std::string_view optimizer, const PoolPlan& plan, ToleranceSchedule course, double share);
  /// The tolerance at the start and at the end of a round (1, 2, ...); at the end of the last round, the tolerance of the last
  /// step.
  std::array<double, 2> of_round(std::uint32_t round) const;
  /// 1 - t/T at the start and at the end of a round; 1 if the tolerance is constant; 1/T after the last round.
  std::array<double, 2> left_in(std::uint32_t round) const;
};

/// The server's side of an optimizer that receives tolerances and pools nothing.
class ToldCourse final : public PooledStatistic {
 public:
  explicit ToldCourse(const ToleranceCourse& course) : course_(course) {}
  std::vector<double> tell(std::uint32_t round) const override {
    const auto [first, last] = course_.of_round(round);
    return {first, last};
  }
  void take(std::uint32_t /*round*/, const ClientReport& /*sums*/) override {}
  void save(std::ostream& bytes) const override { write_archive(bytes, course_); }
  void load(std::istream& bytes) override { read_archive(bytes, course_); }

 private:
  ToleranceCourse course_;
};

/// The tolerance within a round; `told` starts with the tolerances at its start and end.
inline double tolerance_within(std::span<const double> told, Progress progress) {
  return told[0] + (told[1] - told[0]) * progress.of_round;
}

/// Copies the numbers received from the server to the state. Throws Error (failure) unless there are exactly state.size() of
/// them, all finite and at least 0, and the first (a tolerance) is above 0.
void take_told(std::string_view optimizer, std::span<const double> told, std::span<double> state);

}  // namespace fedstride
