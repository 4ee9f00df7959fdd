#include "sim/time/round_time.hpp"

#include <algorithm>

#include "sim/time/work.hpp"

namespace fedstride {

TaskFate fate_of(const TaskEnd& end) { return !end.is_lost ? TaskFate::arrived : end.is_late ? TaskFate::late : TaskFate::lost; }

std::uint64_t RoundTime::count(TaskFate fate) const {
  return static_cast<std::uint64_t>(std::ranges::count(tasks, fate, &TimedTask::fate));
}

double RoundTime::mean_staleness() const {
  double sum = 0;
  for (const TimedTask& task : tasks)
    if (task.fate == TaskFate::arrived) sum += task.staleness;
  return sum == 0 ? 0 : sum / static_cast<double>(count(TaskFate::arrived));
}

std::uint32_t RoundTime::largest_staleness() const {
  std::uint32_t largest = 0;
  for (const TimedTask& task : tasks)
    if (task.fate == TaskFate::arrived) largest = std::max(largest, task.staleness);
  return largest;
}

SpeedTenths::SpeedTenths(const TimeTerms& terms) {
  constexpr std::size_t kMostAsked = 10'000;
  const std::size_t count = std::min(terms.clients, kMostAsked);
  std::vector<double> seconds;
  for (std::size_t i = 0; i < count; ++i)
    seconds.push_back(terms.device(static_cast<ClientId>(i * terms.clients / count)).example_seconds);
  std::ranges::sort(seconds);
  for (std::size_t tenth = 1; tenth < 10; ++tenth) bounds_.push_back(seconds[tenth * (count - 1) / 10]);
}

std::size_t SpeedTenths::of(const TimeTerms& terms, ClientId client) const {
  const double seconds = terms.device(client).example_seconds;
  return static_cast<std::size_t>(std::ranges::lower_bound(bounds_, seconds) - bounds_.begin());
}

void add_to(TimeTotals& totals, const RoundTime& round, const SpeedTenths& tenths, const TimeTerms& terms) {
  totals.now = round.end;
  totals.arrived += round.count(TaskFate::arrived);
  totals.late += round.count(TaskFate::late);
  totals.lost += round.count(TaskFate::lost);
  totals.dropped += round.count(TaskFate::dropped);
  totals.abandoned += round.is_abandoned ? 1 : 0;
  totals.largest_staleness = std::max(totals.largest_staleness, round.largest_staleness());
  for (const TimedTask& task : round.tasks) {
    if (task.fate != TaskFate::arrived) continue;
    totals.staleness += task.staleness;
    ++totals.by_speed[tenths.of(terms, task.client)];
  }
}

}  // namespace fedstride
