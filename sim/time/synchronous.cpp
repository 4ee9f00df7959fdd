#include "sim/time/synchronous.hpp"

#include <algorithm>
#include <cereal/types/vector.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "core/part_state.hpp"
#include "core/text.hpp"

namespace fedstride {

void SynchronousTime::begin(const TimeTerms& terms, Nanoseconds now) {
  terms_ = &terms;
  now_ = now;
  draw_ = next_draw_;
  if (tier_.empty()) tier_ = tiers_by_speed(terms);
}

std::vector<ClientId> SynchronousTime::drawn(const CohortPart& cohort, const CohortQuestion& question) {
  if (terms_->availability->is_always() && tier_.empty()) return cohort.sample(question);
  std::uint16_t tier = 0;
  if (!tier_.empty()) {
    RandomStream random(terms_->seed, {.purpose = Purpose::asynchrony, .round = question.round});
    next_draw_ = draw_;
    tier = next_draw_.draw(*terms_->mode, question.round, tier_, question.losses, random);
  }
  std::vector<ClientId> there;
  Nanoseconds next = kNever;
  for (;;) {
    for (ClientId client = 0; client < question.clients(); ++client) {
      if (!tier_.empty() && tier_[client] != tier) continue;
      const Nanoseconds at = terms_->next_there(client, last_.start);
      if (at == last_.start) there.push_back(client);
      next = std::min(next, at);
    }
    if (!there.empty()) break;
    if (next == kNever)
      throw failure("no client will be there again after " + number_text(seconds_of(last_.start)) +
                    " virtual seconds; the run cannot go on (--availability)");
    last_.start = std::exchange(next, kNever);
  }
  // The cohort is drawn from those that are there as if they were all.
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

std::string SynchronousTime::save() const {
  if (terms_->mode->tiers_adapt_every() == 0) return {};
  return state_bytes([&](std::ostream& stream) { write_archive(stream, draw_); });
}

void SynchronousTime::load(const std::string& bytes) {
  if (terms_->mode->tiers_adapt_every() == 0) return;
  load_state(bytes, "the draws of tiers", std::nullopt, [&](std::istream& stream) { read_archive(stream, draw_); });
  if (!draw_.fits(1 + std::size_t{*std::ranges::max_element(tier_)}))
    throw failure("the draws of tiers in the checkpoint are of another run");
  next_draw_ = draw_;
}

std::vector<ClientId> SynchronousTime::arriving(const CohortPart& cohort, const CohortQuestion& question) {
  last_ = {.start = now_, .end = now_};
  const std::vector<ClientId> asked = drawn(cohort, question);
  std::vector<TimedTask> tasks;
  for (const ClientId client : asked) {
    const TaskEnd end = terms_->end(client, question.round, last_.start);
    tasks.push_back({client, last_.start, end.time, fate_of(end)});
  }
  std::ranges::sort(tasks,
                    [](const TimedTask& a, const TimedTask& b) { return std::tie(a.end, a.client) < std::tie(b.end, b.client); });
  // The round closes when the goal has arrived, when nobody else can, or at the deadline, by which every task has ended.
  const std::size_t goal = terms_->cohort_goal > 0 ? terms_->cohort_goal : tasks.size();
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
  last_.is_abandoned = !tasks.empty() && arrived < static_cast<std::size_t>(terms_->mode->minimum_arrivals());
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
