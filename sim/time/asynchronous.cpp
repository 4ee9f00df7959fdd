#include "sim/time/asynchronous.hpp"

#include <algorithm>

namespace fedstride {

std::set<std::uint32_t> AsynchronousRun::needed_versions() const {
  std::set<std::uint32_t> needed;
  for (const Flight& flight : schedule_->flights()) needed.insert(flight.version);
  return needed;
}

std::vector<ClientReport> AsynchronousRun::advance(std::uint32_t round, const RoundRules& rules, Fleet& fleet, Server& server,
                                                   Vector& model, std::span<const std::uint64_t> /*releases*/,
                                                   ForEachPiece for_each_piece) {
  check_aggregation(rules.aggregation, rules.attack.attack, rules.sum);
  const std::uint32_t current = schedule_->version();
  EventSchedule::Version made = schedule_->next();
  last_ = std::move(made.time);

  // The versions from which running tasks, and the tasks in this version, began.
  std::set<std::uint32_t> needed = needed_versions();
  for (const Flight& task : made.tasks) needed.insert(task.version);
  if (needed.contains(current) && !versions_.contains(current)) put_version(current, {model, server.tell(round)});
  std::erase_if(versions_, [&](const auto& one) { return !needed.contains(one.first); });

  const auto staleness = [&](const Flight& flight) { return current - std::min(current, flight.version); };
  const auto assignment = [&](const Flight& flight) {
    const ModelVersion& begun = *versions_.at(flight.version);
    return ClientTask{flight.client,
                      {.round = flight.count,
                       .model = begun.model,
                       .told = begun.told,
                       .tests = rules.evaluated.every > 0,
                       .scale = scale(staleness(flight))}};
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
    SummedUpdates summed;
    for (const ClientReport& report : reports) {
      if (!report.failure.empty()) continue;
      const Flight& task = *std::ranges::find(made.tasks, report.client, &Flight::client);
      const auto weight = static_cast<double>(rules.sum.weights[report.client]);
      summed.all.push_back({staleness(task), weight, versions_.at(task.version)->model});
      summed.weight += weight;
    }
    return this->change(std::move(mean), summed, model);
  };
  return end_round(round, rules, std::move(updates), server, model, for_each_piece, change);
}

}  // namespace fedstride
