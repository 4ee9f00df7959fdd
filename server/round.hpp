#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/task.hpp"
#include "server/cohort.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

/// A fleet carries a task to the clients of a cohort and brings their updates back, each once, in any order, from any
/// thread. Clients that fail are absent. In one process or over a network: the round does not know.
template <class T>
concept Fleet = requires(T fleet, const Task& task, const std::vector<ClientId>& cohort, UpdateSink sink) {
  fleet.collect(task, cohort, sink);
};

/// What does not change from round to round.
struct RoundRules {
  Cohort cohort;
  ServerOptimizer server;
  std::vector<std::uint64_t> weights;  ///< of each client's update in the mean, from the coordinator's own roster
};

/// Federated averaging, one round:
///   sample a cohort -> every client trains the model -> exact weighted sum of the changes -> server optimiser.
/// An update that is not finite or out of the exact sum's range is left out and named; a round nobody finished changes
/// nothing. Returns the reports in order of clients.
template <Fleet F>
std::vector<ClientReport> run_round(std::uint32_t round, const RoundRules& rules, F& fleet, Vector& model) {
  const auto sample = [&](const auto& cohort) { return cohort.sample(round, rules.weights.size()); };
  const std::vector<ClientId> cohort = std::visit(sample, rules.cohort);

  ExactSum sum(static_cast<std::size_t>(model.size()));
  std::vector<ClientReport> reports;
  std::mutex mutex;
  fleet.collect(Task{round, model}, cohort, [&](const ClientUpdate& update) {
    const bool admitted = ExactSum::admits(update.change);
    const std::lock_guard lock(mutex);
    if (admitted) sum.add(update.change, rules.weights[update.report.client]);
    reports.push_back(update.report);
    if (!admitted) reports.back().failure = "its training diverged: the update is not finite or 2^22 and larger";
  });

  if (sum.weight() > 0) {
    Vector mean_change;
    sum.divided_by(static_cast<double>(sum.weight()), mean_change);
    std::visit([&](const auto& server) { server.apply(model, mean_change); }, rules.server);
  }
  std::ranges::sort(reports, {}, &ClientReport::client);
  return reports;
}

}  // namespace fedstride
