#include "sim/time/modes/fedat.hpp"

#include <algorithm>
#include <cereal/types/map.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <numeric>

#include "core/error.hpp"
#include "core/part_state.hpp"
#include "core/text.hpp"
#include "sim/time/asynchronous.hpp"

namespace fedstride {
namespace {

// The events of FedAT (Chai et al. 2021). Each tier of clients of similar speed has its own consecutive rounds: tier-cohort of
// its available clients, drawn uniformly, begin together, and the round ends when its last task ends. A round with at least one
// update makes a version, from which the tier's next round begins.
class TierSchedule final : public EventSchedule {
 public:
  TierSchedule(const TimeTerms& terms, std::size_t tiers, std::size_t cohort)
      : terms_(terms), cohort_(cohort), tier_(tiers_by_speed(terms, tiers)) {
    for (ClientId client = 0; client < tier_.size(); ++client) {
      members_.resize(std::max<std::size_t>(members_.size(), 1 + std::size_t{tier_[client]}));
      members_[tier_[client]].push_back(client);
    }
    rounds_.resize(members_.size());
  }

  Version next() override {
    Version made{.time = {.start = now_}};
    while (made.tasks.empty()) {
      std::vector<Nanoseconds> rounds = ends();
      Nanoseconds next_start = kNever;
      if (*std::ranges::min_element(rounds) > now_)  // at any instant, ends come before starts
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
        throw failure("no client will be available again after " + number_text(seconds_of(now_)) +
                      " virtual seconds, and none is at work; the run cannot continue (--availability)");
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

  std::string save() const override {
    return state_bytes([&](std::ostream& stream) { write_archive(stream, now_, version_, begun_, rounds_, flights_, counts_); });
  }

  void load(const std::string& bytes) override {
    load_state(bytes, "the schedule", std::nullopt,
               [&](std::istream& stream) { read_archive(stream, now_, version_, begun_, rounds_, flights_, counts_); });
    const bool is_damaged = rounds_.size() != members_.size() || std::ranges::any_of(flights_, [&](const Flight& flight) {
                              return flight.client >= terms_.clients || flight.version > version_;
                            });
    if (is_damaged) throw failure("the schedule in the checkpoint is damaged");
  }

 private:
  // The ends of the tiers' rounds; kNever for a tier without a round.
  std::vector<Nanoseconds> ends() const {
    std::vector<Nanoseconds> ends(members_.size(), kNever);
    for (const Flight& flight : flights_) ends[tier_[flight.client]] = flight.end;  // in order, so the last one remains
    return ends;
  }

  Nanoseconds earliest_start(std::size_t tier) const {
    if (terms_.availability->is_always()) return now_;
    Nanoseconds earliest = kNever;
    for (const ClientId client : members_[tier]) earliest = std::min(earliest, terms_.next_there(client, now_));
    return earliest;
  }

  void start(std::size_t tier) {
    std::vector<ClientId> there = members_[tier];
    if (!terms_.availability->is_always()) std::erase_if(there, [&](ClientId client) { return !terms_.is_there(client, now_); });
    RandomStream random(terms_.seed,
                        {.purpose = Purpose::asynchrony, .round = ++rounds_[tier], .client = static_cast<std::uint32_t>(tier)});
    const std::size_t size = std::min(there.size(), cohort_);
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

  const TimeTerms& terms_;
  std::size_t cohort_;
  std::vector<std::uint16_t> tier_;             // by client
  std::vector<std::vector<ClientId>> members_;  // by tier
  Nanoseconds now_ = 0;
  std::uint64_t begun_ = 0;            // tasks so far
  std::vector<std::uint32_t> rounds_;  // rounds begun, by tier
  std::map<ClientId, std::uint32_t> counts_ = {};
};

// Keeps the tiers' models x_m and their numbers of rounds T_m, and merges the models in double precision.
class MergingRun final : public AsynchronousRun {
 public:
  MergingRun(std::unique_ptr<EventSchedule> schedule, std::size_t tiers) : AsynchronousRun(std::move(schedule)), rounds_(tiers) {}

  std::string save() const override {
    const std::string schedule = AsynchronousRun::save();
    return state_bytes([&](std::ostream& stream) { write_archive(stream, schedule, rounds_, models_); });
  }

  void load(const std::string& bytes, Nanoseconds now) override {
    const std::size_t tiers = rounds_.size();
    std::string schedule;
    load_state(bytes, "the tiers", std::nullopt, [&](std::istream& stream) { read_archive(stream, schedule, rounds_, models_); });
    const std::size_t size = models_.empty() ? 0 : models_.front().size();
    if (rounds_.size() != tiers || (!models_.empty() && models_.size() != tiers) ||
        std::ranges::any_of(models_, [&](const Vector& model) { return model.size() != size; }))
      throw failure("the tiers in the checkpoint are damaged");
    AsynchronousRun::load(schedule, now);
  }

 private:
  Vector change(Vector mean, const SummedUpdates& updates, const Vector& model) override {
    if (models_.empty()) models_.assign(rounds_.size(), model);
    const Vector& begun = updates.all.front().begun;  // all updates in a tier's round began from one version
    if (begun.size() != models_[updates.tier].size())
      throw failure("the tiers in the checkpoint have models of a different size");
    for (std::size_t i = 0; i < mean.size(); ++i) models_[updates.tier][i] = begun[i] + mean[i];
    ++rounds_[updates.tier];
    const auto all = static_cast<double>(std::accumulate(rounds_.begin(), rounds_.end(), std::uint64_t{0}));
    for (std::size_t i = 0; i < mean.size(); ++i) {
      double sum = 0;
      for (std::size_t m = 0; m < models_.size(); ++m)
        sum += static_cast<double>(rounds_[models_.size() - 1 - m]) / all * double{models_[m][i]};
      mean[i] = static_cast<float>(sum) - model[i];
    }
    return mean;
  }

  std::vector<Vector> models_ = {};
  std::vector<std::uint64_t> rounds_;
};

}  // namespace

std::unique_ptr<EventSchedule> FedAt::schedule(const TimeTerms& terms) const {
  return std::make_unique<TierSchedule>(terms, static_cast<std::size_t>(tiers_), static_cast<std::size_t>(tier_cohort));
}

std::unique_ptr<TimedRun> FedAt::begin(const TimeTerms& terms) const {
  return std::make_unique<MergingRun>(schedule(terms), std::min(static_cast<std::size_t>(tiers_), terms.clients));
}

}  // namespace fedstride
