#include "sim/time/asynchronous.hpp"

#include <algorithm>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/part_state.hpp"

namespace fedstride {

Vector version_change(const ModePart& mode, Vector mean, double mean_weight, std::span<const double> begun, const Vector& model) {
  if (mode.mixing() > 0) {
    const double a = mode.mixing() * mean_weight;
    for (std::size_t i = 0; i < model.size(); ++i)
      mean[i] = static_cast<float>(a * (begun[i] + double{mean[i]} - double{model[i]}));
  } else if (mode.is_normalized() && mean_weight != 1) {
    for (float& value : mean) value = static_cast<float>(value / mean_weight);
  }
  return mean;
}

Vector merged_tiers(std::span<const Vector> models, std::span<const std::uint64_t> rounds) {
  const auto all = static_cast<double>(std::accumulate(rounds.begin(), rounds.end(), std::uint64_t{0}));
  Vector merged(models.front().size());
  for (std::size_t i = 0; i < merged.size(); ++i) {
    double sum = 0;
    for (std::size_t tier = 0; tier < models.size(); ++tier)
      sum += static_cast<double>(rounds[models.size() - 1 - tier]) / all * double{models[tier][i]};
    merged[i] = static_cast<float>(sum);
  }
  return merged;
}

AsynchronousRun::AsynchronousRun(const TimeTerms& terms) : terms_(terms) {
  if (terms.mode->merges_tiers()) {
    schedule_ = std::make_unique<TierSchedule>(terms);
    tier_rounds_.resize(std::min(static_cast<std::size_t>(terms.mode->tiers()), terms.clients));
  } else {
    schedule_ = std::make_unique<BufferSchedule>(terms);
  }
}

std::string AsynchronousRun::save() const {
  if (!terms_.mode->merges_tiers()) return schedule_->save();
  const std::string schedule = schedule_->save();
  return state_bytes([&](std::ostream& stream) { write_archive(stream, schedule, tier_rounds_, tier_models_); });
}

void AsynchronousRun::load(const std::string& bytes) {
  if (!terms_.mode->merges_tiers()) return schedule_->load(bytes);
  const std::size_t tiers = tier_rounds_.size();
  std::string schedule;
  load_state(bytes, "the tiers", std::nullopt,
             [&](std::istream& stream) { read_archive(stream, schedule, tier_rounds_, tier_models_); });
  const std::size_t size = tier_models_.empty() ? 0 : tier_models_.front().size();
  if (tier_rounds_.size() != tiers || (!tier_models_.empty() && tier_models_.size() != tiers) ||
      std::ranges::any_of(tier_models_, [&](const Vector& model) { return model.size() != size; }))
    throw failure("the tiers in the checkpoint are damaged");
  schedule_->load(schedule);
}

std::set<std::uint32_t> AsynchronousRun::needed_versions() const {
  std::set<std::uint32_t> needed;
  for (const Flight& flight : schedule_->flights()) needed.insert(flight.version);
  return needed;
}

std::vector<ClientReport> AsynchronousRun::advance(const RoundRules& rules, Fleet& fleet, Server& server, Vector& model,
                                                   ForEachPiece for_each_piece) {
  check_aggregation(rules.aggregation, rules.attack.attack, rules.sum);
  const ModePart& mode = *terms_.mode;
  const std::uint32_t current = schedule_->version();
  EventSchedule::Version made = schedule_->next();
  const std::uint32_t round = current + 1;
  last_ = std::move(made.time);

  if (mode.merges_tiers() && tier_models_.empty()) tier_models_.assign(tier_rounds_.size(), model);

  // The versions that tasks began from, those of this version's included.
  std::set<std::uint32_t> needed = needed_versions();
  for (const Flight& task : made.tasks) needed.insert(task.version);
  if (needed.contains(current) && !versions_.contains(current)) put_version(current, {model, server.tell(round)});
  std::erase_if(versions_, [&](const auto& one) { return !needed.contains(one.first); });

  const bool mixes = mode.mixing() > 0;
  const auto assignment = [&](const Flight& flight) {
    const ModelVersion& begun = *versions_.at(flight.version);
    const std::uint32_t staleness = current - std::min(current, flight.version);
    return ClientTask{flight.client,
                      {.round = flight.count,
                       .model = begun.model,
                       .told = begun.told,
                       .tests = rules.evaluated.every > 0,
                       .scale = mixes ? 1 : mode.weight(staleness)}};
  };
  std::vector<ClientTask> tasks;
  std::vector<ClientTask> ahead;
  std::vector<ClientId> clients;
  for (const Flight& task : made.tasks) tasks.push_back(assignment(task)), clients.push_back(task.client);
  for (const Flight& flight : schedule_->flights())
    if (flight.fate == TaskFate::arrived) ahead.push_back(assignment(flight));
  std::ranges::sort(clients);

  Accumulator updates(rules.sum, round, clients, server.update_size(), rules.keeps());
  updates.correlate(server.noise());
  fleet.collect_each(tasks, ahead, updates);
  const auto change = [&](Vector mean, std::span<const ClientReport> reports) {
    if (mode.merges_tiers()) {
      const Vector& begun = versions_.at(made.tasks.front().version)->model;
      if (begun.size() != tier_models_.at(made.tier).size())
        throw failure("the tiers in the checkpoint have models of another size");
      for (std::size_t i = 0; i < mean.size(); ++i) tier_models_[made.tier][i] = begun[i] + mean[i];
      ++tier_rounds_[made.tier];
      mean = merged_tiers(tier_models_, tier_rounds_);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] -= model[i];
      return mean;
    }
    // The means of the staleness weights, and of the models begun from, over the updates in the sum.
    const auto each = [&](const auto& take) {
      for (const ClientReport& report : reports)
        if (report.failure.empty())
          take(*std::ranges::find(made.tasks, report.client, &Flight::client),
               static_cast<double>(rules.sum.weights[report.client]));
    };
    double all = 0;
    each([&](const Flight&, double weight) { all += weight; });
    double weights = 0;
    std::vector<double> begun(mixes ? model.size() : 0);
    each([&](const Flight& task, double weight) {
      const double staleness_weight = mode.weight(current - std::min(current, task.version));
      weights += weight * staleness_weight;
      const Vector& from = versions_.at(task.version)->model;
      for (std::size_t i = 0; i < begun.size(); ++i) begun[i] += weight / all * double{from[i]};
    });
    return version_change(mode, std::move(mean), all > 0 ? weights / all : 1, begun, model);
  };
  return end_round(round, rules, std::move(updates), server, model, for_each_piece, change);
}

}  // namespace fedstride
