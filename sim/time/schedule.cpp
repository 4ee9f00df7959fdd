#include "sim/time/schedule.hpp"

#include <algorithm>
#include <cereal/types/map.hpp>
#include <cereal/types/set.hpp>
#include <utility>

#include "core/error.hpp"
#include "core/part_state.hpp"
#include "core/text.hpp"

namespace fedstride {

BufferSchedule::BufferSchedule(const TimeTerms& terms, const BufferRules& rules)
    : terms_(terms), rules_(rules), free_(rules.concurrency), taken_(terms.clients) {
  if (rules.concurrency > terms.clients)
    throw usage_error("concurrency is " + std::to_string(rules.concurrency) + "; it must be at most the number of clients, " +
                      std::to_string(terms.clients));
}

bool BufferSchedule::rests(ClientId client) const {
  if (terms_.separation == 1) return false;
  const auto found = rested_.find(client);
  return found != rested_.end() && found->second > version_ + 1;
}

bool BufferSchedule::may_start(ClientId client) const {
  return !taken_[client] && !rests(client) && terms_.is_there(client, now_);
}

bool BufferSchedule::start_one() {
  if (taken_count_ == terms_.clients) return false;
  RandomStream random(terms_.seed, {.purpose = Purpose::asynchrony,
                                    .client = static_cast<std::uint32_t>(begun_ >> 32),
                                    .step = static_cast<std::uint32_t>(begun_)});
  const auto drawn_below = [&](std::size_t count) { return static_cast<ClientId>(random.below(count)); };
  constexpr int kMostTries = 64;  // then all idle clients are listed; the draw is uniform either way
  ClientId client = drawn_below(terms_.clients);
  for (int tries = 1; tries < kMostTries && !may_start(client); ++tries) client = drawn_below(terms_.clients);
  if (!may_start(client)) {
    std::vector<ClientId> idle;
    for (ClientId one = 0; one < terms_.clients; ++one)
      if (may_start(one)) idle.push_back(one);
    if (idle.empty()) return false;
    client = idle[drawn_below(idle.size())];
  }
  const std::uint32_t count = ++counts_[client];
  const TaskEnd end = terms_.end(client, count, now_);
  flights_.insert({.end = end.time,
                   .fate = fate_of(end),
                   .client = client,
                   .sequence = begun_++,
                   .count = count,
                   .version = version_,
                   .start = now_});
  taken_[client] = true;
  ++taken_count_;
  --free_;
  return true;
}

bool BufferSchedule::must_wait() const {
  return rules_.waits && rules_.staleness_cap > 0 && std::ranges::any_of(flights_, [&](const Flight& flight) {
           return flight.fate == TaskFate::arrived && version_ + 1 - flight.version > rules_.staleness_cap;
         });
}

Nanoseconds BufferSchedule::earliest_start() const {
  Nanoseconds earliest = kNever;
  if (terms_.availability->is_always()) return earliest;
  for (ClientId client = 0; client < terms_.clients; ++client)
    if (!taken_[client] && !rests(client)) earliest = std::min(earliest, terms_.next_there(client, now_));
  return earliest;
}

BufferSchedule::Version BufferSchedule::next() {
  const std::uint32_t cap = rules_.staleness_cap;
  const auto release = [&](ClientId client) {
    taken_[client] = false;
    --taken_count_;
    if (!rests(client)) none_before_ = std::min(none_before_, terms_.next_there(client, now_));
  };
  std::erase_if(rested_, [&](const auto& one) { return one.second <= version_ + 1; });
  if (terms_.separation > 1) none_before_ = 0;  // rested clients may be available
  Version made{.time = {.start = now_}};
  while (made.tasks.size() < rules_.buffer || must_wait()) {
    if (free_ > 0 && now_ >= none_before_ && (flights_.empty() || flights_.begin()->end > now_)) {
      while (free_ > 0 && start_one()) {
      }
      if (free_ > 0) none_before_ = earliest_start();
    }
    const Nanoseconds start = free_ > 0 ? std::max(none_before_, now_) : kNever;
    const Nanoseconds end = flights_.empty() ? kNever : flights_.begin()->end;
    if (start == kNever && end == kNever && !rested_.empty())
      throw usage_error("minimum-separation is " + std::to_string(terms_.separation) + "; version " +
                        std::to_string(version_ + 1) + " would never be made: it has " + counted(made.tasks.size(), "update") +
                        " of " + std::to_string(rules_.buffer) + ", no client is at work, and the " +
                        counted(rested_.size(), "client") +
                        " of the last versions (including those that failed) may not begin again yet");
    if (start == kNever && end == kNever)
      throw failure("no client will be available again after " + number_text(seconds_of(now_)) +
                    " virtual seconds, and none is at work; the run cannot continue (--availability)");
    if (start < end) {
      now_ = start;
      continue;
    }
    Flight flight = flights_.extract(flights_.begin()).value();
    now_ = flight.end;
    ++free_;
    const std::uint32_t staleness = version_ - flight.version;
    if (flight.fate == TaskFate::arrived && cap > 0 && staleness > cap) flight.fate = TaskFate::dropped;
    if (terms_.separation > 1)
      rested_[flight.client] = terms_.separation + 1 + (flight.fate == TaskFate::arrived ? version_ : flight.version);
    made.time.tasks.push_back({flight.client, flight.start, flight.end, flight.fate, staleness});
    if (flight.fate == TaskFate::arrived)
      made.tasks.push_back(flight);  // its client stays taken: a client is in a buffer at most once
    else
      release(flight.client);
  }
  for (const Flight& task : made.tasks) release(task.client);
  ++version_;
  made.time.end = now_;
  return made;
}

std::string BufferSchedule::save() const {
  return state_bytes([&](std::ostream& stream) {
    cereal::PortableBinaryOutputArchive archive(stream);
    const_cast<BufferSchedule&>(*this).exchange(archive);  // cereal uses one function for both directions
  });
}

void BufferSchedule::load(const std::string& bytes) {
  load_state(bytes, "the schedule", std::nullopt, [&](std::istream& stream) {
    cereal::PortableBinaryInputArchive archive(stream);
    exchange(archive);
  });
  std::fill(taken_.begin(), taken_.end(), false);
  for (const Flight& flight : flights_) {
    if (flight.client >= taken_.size() || flight.version > version_ || taken_[flight.client])
      throw failure("the schedule in the checkpoint is damaged");
    taken_[flight.client] = true;
  }
  taken_count_ = flights_.size();
  none_before_ = 0;
}

}  // namespace fedstride
