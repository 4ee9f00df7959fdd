#include "sim/time/modes/sync.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

std::vector<ClientId> SynchronousRun::drawn(const CohortPart& cohort, const CohortQuestion& question) {
  if (terms_.availability->is_always()) return cohort.sample(question);
  std::vector<ClientId> there;
  Nanoseconds next = kNever;
  for (;;) {
    for (ClientId client = 0; client < question.clients(); ++client) {
      const Nanoseconds at = terms_.next_there(client, last_.start);
      if (at == last_.start) there.push_back(client);
      next = std::min(next, at);
    }
    if (!there.empty()) break;
    if (next == kNever)
      throw failure("no client will be available again after " + number_text(seconds_of(last_.start)) +
                    " virtual seconds; the run cannot continue (--availability)");
    last_.start = std::exchange(next, kNever);
  }
  // The cohort is drawn from the available clients as if there were no others.
  std::vector<std::uint64_t> rows;
  std::vector<double> losses;
  for (const ClientId client : there) {
    rows.push_back(question.rows[client]);
    if (cohort.asks_for_losses()) losses.push_back(question.losses[client]);
  }
  std::vector<ClientId> cohort_of_them = cohort.sample({question.round, rows, question.source, losses});
  for (ClientId& client : cohort_of_them) client = there[client];
  return cohort_of_them;
}

std::vector<ClientId> SynchronousRun::arriving(const CohortPart& cohort, const CohortQuestion& question) {
  last_ = {.start = last_.end, .end = last_.end};
  const std::vector<ClientId> asked = drawn(cohort, question);
  std::vector<TimedTask> tasks;
  for (const ClientId client : asked) {
    const TaskEnd end = terms_.end(client, question.round, last_.start);
    tasks.push_back({client, last_.start, end.time, fate_of(end)});
  }
  std::ranges::sort(tasks,
                    [](const TimedTask& a, const TimedTask& b) { return std::tie(a.end, a.client) < std::tie(b.end, b.client); });
  // The round closes when the goal is reached, when no further update can arrive, or at the deadline, by which every task has
  // ended.
  const std::size_t goal = terms_.cohort_goal > 0 ? terms_.cohort_goal : tasks.size();
  std::size_t arrived = 0;
  last_.end = last_.start;
  std::vector<ClientId> clients;
  for (TimedTask& task : tasks) {
    if (arrived == goal) {
      if (task.fate == TaskFate::arrived) task.fate = TaskFate::late;
      continue;
    }
    last_.end = std::max(last_.end, task.end);
    if (task.fate != TaskFate::arrived) continue;
    ++arrived;
    clients.push_back(task.client);
  }
  last_.is_abandoned = !tasks.empty() && arrived < minimum_arrivals_;
  if (last_.is_abandoned) {
    for (TimedTask& task : tasks)
      if (task.fate == TaskFate::arrived) task.fate = TaskFate::dropped;
    clients.clear();
  }
  last_.tasks = std::move(tasks);
  std::ranges::sort(clients);
  return clients;
}

}  // namespace fedstride
