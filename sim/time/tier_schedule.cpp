#include "sim/time/tier_schedule.hpp"

#include <algorithm>
#include <cereal/types/map.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/vector.hpp>
#include <utility>

#include "core/error.hpp"
#include "core/part_state.hpp"
#include "core/text.hpp"

namespace fedstride {

TierSchedule::TierSchedule(const TimeTerms& terms) : terms_(terms), tier_(tiers_by_speed(terms)) {
  for (ClientId client = 0; client < tier_.size(); ++client) {
    members_.resize(std::max<std::size_t>(members_.size(), 1 + std::size_t{tier_[client]}));
    members_[tier_[client]].push_back(client);
  }
  rounds_.resize(members_.size());
}

std::vector<Nanoseconds> TierSchedule::ends() const {
  std::vector<Nanoseconds> ends(members_.size(), kNever);
  for (const Flight& flight : flights_) ends[tier_[flight.client]] = flight.end;  // in order, so that the last remains
  return ends;
}

Nanoseconds TierSchedule::earliest_start(std::size_t tier) const {
  if (terms_.availability->is_always()) return now_;
  Nanoseconds earliest = kNever;
  for (const ClientId client : members_[tier]) earliest = std::min(earliest, terms_.next_there(client, now_));
  return earliest;
}

void TierSchedule::start(std::size_t tier) {
  std::vector<ClientId> there = members_[tier];
  if (!terms_.availability->is_always()) std::erase_if(there, [&](ClientId client) { return !terms_.is_there(client, now_); });
  RandomStream random(terms_.seed,
                      {.purpose = Purpose::asynchrony, .round = ++rounds_[tier], .client = static_cast<std::uint32_t>(tier)});
  const std::size_t size = std::min(there.size(), static_cast<std::size_t>(terms_.mode->buffer()));
  for (std::size_t i = 0; i < size; ++i) {
    std::swap(there[i], there[i + static_cast<std::size_t>(random.below(there.size() - i))]);
    const ClientId client = there[i];
    const std::uint32_t count = ++counts_[client];
    const TaskEnd end = terms_.end(client, count, now_);
    flights_.insert({.end = end.time,
                     .fate = fate_of(end),
                     .client = client,
                     .sequence = begun_++,
                     .count = count,
                     .version = version_,
                     .start = now_});
  }
}

EventSchedule::Version TierSchedule::next() {
  Version made{.time = {.start = now_}};
  while (made.tasks.empty()) {
    std::vector<Nanoseconds> rounds = ends();
    Nanoseconds next_start = kNever;
    if (*std::ranges::min_element(rounds) > now_)  // ends of an instant come before starts
      for (std::size_t tier = 0; tier < rounds.size(); ++tier) {
        if (rounds[tier] != kNever) continue;
        const Nanoseconds at = earliest_start(tier);
        if (at == now_)
          start(tier);
        else
          next_start = std::min(next_start, at);
      }
    rounds = ends();
    const auto first = std::ranges::min_element(rounds);
    if (*first == kNever && next_start == kNever)
      throw failure("no client will be there again after " + number_text(seconds_of(now_)) +
                    " virtual seconds, and none is at work; the run cannot go on (--availability)");
    if (next_start < *first) {
      now_ = next_start;
      continue;
    }
    now_ = *first;
    made.tier = static_cast<std::size_t>(first - rounds.begin());
    for (auto at = flights_.begin(); at != flights_.end();) {
      if (tier_[at->client] != made.tier) {
        ++at;
        continue;
      }
      made.time.tasks.push_back({at->client, at->start, at->end, at->fate, version_ - at->version});
      if (at->fate == TaskFate::arrived) made.tasks.push_back(*at);
      at = flights_.erase(at);
    }
  }
  ++version_;
  made.time.end = now_;
  return made;
}

std::string TierSchedule::save() const {
  return state_bytes([&](std::ostream& stream) {
    cereal::PortableBinaryOutputArchive archive(stream);
    const_cast<TierSchedule&>(*this).exchange(archive);  // cereal uses one function for both directions
  });
}

void TierSchedule::load(const std::string& bytes) {
  load_state(bytes, "the schedule", std::nullopt, [&](std::istream& stream) {
    cereal::PortableBinaryInputArchive archive(stream);
    exchange(archive);
  });
  const bool is_damaged = rounds_.size() != members_.size() || std::ranges::any_of(flights_, [&](const Flight& flight) {
                            return flight.client >= terms_.clients || flight.version > version_;
                          });
  if (is_damaged) throw failure("the schedule in the checkpoint is damaged");
}

}  // namespace fedstride
