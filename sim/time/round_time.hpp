#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/client_report.hpp"
#include "sim/time/clock.hpp"

namespace fedstride {

struct TaskEnd;
struct TimeTerms;

/// How a task ended.
enum class TaskFate : std::uint8_t {
  arrived,  ///< its update is in the sum
  late,     ///< it would have ended after the round or its deadline; its update is never sent
  lost,     ///< its client went away
  dropped   ///< its update arrived but is in no sum: too stale, or in a round with too few arrivals
};

TaskFate fate_of(const TaskEnd& end);

/// A task on the timeline.
struct TimedTask {
  ClientId client = 0;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  TaskFate fate = TaskFate::arrived;
  std::uint32_t staleness = 0;
};

/// The virtual time of one round, or of one version of an asynchronous run.
struct RoundTime {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  std::vector<TimedTask> tasks = {};  ///< tasks that ended in it, in order of their ends
  bool is_abandoned = false;          ///< too few clients arrived, and none is in the sum

  std::uint64_t count(TaskFate fate) const;
  double mean_staleness() const;  ///< over arrived tasks; 0 if none
  std::uint32_t largest_staleness() const;
};

/// Totals of a run.
struct TimeTotals {
  Nanoseconds now = 0;
  std::uint64_t arrived = 0;
  std::uint64_t late = 0;
  std::uint64_t lost = 0;
  std::uint64_t dropped = 0;
  std::uint64_t abandoned = 0;  ///< number of rounds
  std::uint64_t staleness = 0;  ///< sum over arrived tasks
  std::uint32_t largest_staleness = 0;
  std::array<std::uint64_t, 10> by_speed = {};  ///< arrivals from each tenth of the clients by device speed, the fastest first

  void serialize(auto& archive) { archive(now, arrived, late, lost, dropped, abandoned, staleness, largest_staleness, by_speed); }
};

/// Divides clients into tenths by the speed of their devices, with bounds from at most 10,000 evenly spaced clients.
class SpeedTenths {
 public:
  explicit SpeedTenths(const TimeTerms& terms);
  std::size_t of(const TimeTerms& terms, ClientId client) const;

 private:
  std::vector<double> bounds_ = {};  // nine, ascending
};

void add_to(TimeTotals& totals, const RoundTime& round, const SpeedTenths& tenths, const TimeTerms& terms);

}  // namespace fedstride
