#pragma once

#include <span>
#include <vector>

#include "core/task.hpp"
#include "server/accumulator.hpp"
#include "server/aggregation.hpp"
#include "server/cohort.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

/// A fleet gives a task to the clients of a cohort and adds their updates to an accumulator, each once, in any order, from
/// any thread, or fills parts of it and merges them. Clients that fail are absent. A fleet may be in one process, on a
/// network or on a cluster; the round does not depend on it.
template <class T>
concept Fleet = requires(T fleet, const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) {
  fleet.collect(task, cohort, updates);
};

/// The settings that do not change from round to round.
struct RoundRules {
  Cohort cohort;
  RandomSource cohort_source{std::uint64_t{0}};
  SumRules sum = {};  ///< how updates are clipped, weighed, summed and noised
  Aggregation aggregation = {};
};

/// Federated averaging, one round:
///   cohort -> every client trains the model -> accumulator (each change clipped, weighed, added exactly)
///   -> aggregation (noise, mean change) -> server optimiser -> the next model.
/// `releases` is what each client may spend of its example-level privacy (Task); a client with nothing left stays out.
/// A round that has no mean change, because no client finished it and there is no client-level privacy, changes nothing.
/// Returns the reports in order of clients.
template <Fleet F>
std::vector<ClientReport> run_round(std::uint32_t round, const RoundRules& rules, F& fleet, Server& server, Vector& model,
                                    std::span<const std::uint64_t> releases = {}, ForEachPiece for_each_piece = serially) {
  check_aggregation(rules.aggregation, rules.sum);
  std::vector<ClientId> cohort = rules.cohort->sample(round, rules.sum.weights.size(), rules.cohort_source);
  std::erase_if(cohort, [&](ClientId client) { return !releases.empty() && releases[client] == 0; });

  Accumulator updates(rules.sum, round, cohort, model.size(), rules.aggregation->reads());
  fleet.collect(Task{round, model, releases, server.tell(round)}, cohort, updates);
  std::vector<ClientReport> reports = updates.reports();
  server.take(reports, mean_square_norm(rules.sum, reports));

  // From here on only this change remains of the updates; under client-level privacy it always contains the noise.
  if (const auto change = rules.aggregation->mean_change(std::move(updates), for_each_piece)) server.apply(model, *change);
  return reports;
}

}  // namespace fedstride
