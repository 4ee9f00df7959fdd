#include "sim/time/asynchronous.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fedstride {

Vector version_change(const ModePart& mode, Vector mean, double mean_weight, std::uint32_t staleness, const Vector& begun,
                      const Vector& model) {
  if (mode.mixing() > 0) {
    const double a = mode.mixing() * mode.weight(staleness);
    for (std::size_t i = 0; i < model.size(); ++i)
      mean[i] = static_cast<float>(a * (double{begun[i]} + double{mean[i]} - double{model[i]}));
  } else if (mode.is_normalized() && mean_weight != 1) {
    for (float& value : mean) value = static_cast<float>(value / mean_weight);
  }
  return mean;
}

std::set<std::uint32_t> AsynchronousRun::needed_versions() const {
  std::set<std::uint32_t> needed;
  for (const Flight& flight : schedule_.flights()) needed.insert(flight.version);
  return needed;
}

std::vector<ClientReport> AsynchronousRun::advance(const RoundRules& rules, Fleet& fleet, Server& server, Vector& model,
                                                   ForEachPiece for_each_piece) {
  check_aggregation(rules.aggregation, rules.attack.attack, rules.sum);
  const std::uint32_t current = schedule_.version();
  Schedule::Version made = schedule_.next();
  const std::uint32_t round = current + 1;
  last_ = std::move(made.time);

  // The versions that tasks began from, those of this version's included.
  std::set<std::uint32_t> needed = needed_versions();
  for (const Flight& task : made.tasks) needed.insert(task.version);
  if (needed.contains(current) && !versions_.contains(current)) put_version(current, {model, server.tell(round)});
  std::erase_if(versions_, [&](const auto& one) { return !needed.contains(one.first); });

  const ModePart& mode = *terms_.mode;
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
  for (const Flight& flight : schedule_.flights())
    if (flight.fate == TaskFate::arrived) ahead.push_back(assignment(flight));
  std::ranges::sort(clients);

  Accumulator updates(rules.sum, round, clients, server.update_size(), rules.keeps());
  fleet.collect_each(tasks, ahead, updates);
  const auto change = [&](Vector mean, std::span<const ClientReport> reports) {
    // The mean of the staleness weights over the updates in the sum.
    double weights = 0;
    double all = 0;
    for (const ClientReport& report : reports) {
      if (!report.failure.empty()) continue;
      const auto task = std::ranges::find(tasks, report.client, &ClientTask::client);
      const auto weight = static_cast<double>(rules.sum.weights[report.client]);
      weights += weight * task->task.scale;
      all += weight;
    }
    const Flight& first = made.tasks.front();
    return version_change(mode, std::move(mean), all > 0 ? weights / all : 1, current - first.version,
                          versions_.at(first.version)->model, model);
  };
  return end_round(round, rules, std::move(updates), server, model, for_each_piece, change);
}

}  // namespace fedstride
