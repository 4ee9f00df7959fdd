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

/// The rounds after which models are evaluated: every so many, and the last; 0: none.
struct EvaluatedRounds {
  std::uint32_t every = 0;
  std::uint32_t last = 0;
  bool has(std::uint32_t round) const { return every > 0 && (round % every == 0 || round == last); }
};

/// The settings that do not change from round to round.
struct RoundRules {
  Cohort cohort;
  RandomSource cohort_source{std::uint64_t{0}};
  std::vector<std::uint64_t> rows = {};  ///< of each client, by which a cohort may be drawn; empty: SumRules::weights
  SumRules sum = {};                     ///< how updates are clipped, weighed, summed and noised
  Aggregation aggregation = {};
  AttackPlan attack = {};  ///< of attackers that see what the others send
  EvaluatedRounds evaluated = {};

  CohortQuestion question(std::uint32_t round, std::span<const double> losses) const {
    return {round, rows.empty() ? sum.weights : rows, cohort_source, losses};
  }
  Accumulator::Keeps keeps() const { return attack.attack->conspires() ? Accumulator::Keeps::updates : aggregation->reads(); }
};

/// Federated averaging, one round:
///   cohort -> every client trains the model under its local objective -> accumulator (each update clipped, weighed, added
///   exactly) -> aggregation (noise, mean update) -> the objective's server, server optimiser -> the next model.
/// `releases` is what each client may spend of its example-level privacy (Task); a client with nothing left stays out.
/// A round that has no mean update, because no client finished it and there is no client-level privacy, changes nothing.
/// Returns the reports in order of clients.
template <Fleet F>
std::vector<ClientReport> run_round(std::uint32_t round, const RoundRules& rules, F& fleet, Server& server, Vector& model,
                                    std::span<const std::uint64_t> releases = {}, ForEachPiece for_each_piece = serially) {
  check_aggregation(rules.aggregation, rules.attack.attack, rules.sum);
  std::vector<ClientId> cohort = rules.cohort->sample(rules.question(round, server.losses()));
  std::erase_if(cohort, [&](ClientId client) { return !releases.empty() && releases[client] == 0; });

  Accumulator updates(rules.sum, round, cohort, server.update_size(), rules.keeps());
  fleet.collect(Task{round, model, releases, server.tell(round), server.beside(), rules.evaluated.has(round)}, cohort, updates);
  if (rules.attack.attack->conspires()) updates.conspire(rules.attack);
  std::vector<ClientReport> reports = updates.reports();
  server.take(reports, rules.sum);

  // From here on only this mean remains of the updates; under client-level privacy it always contains the noise.
  if (auto mean = rules.aggregation->mean_change(std::move(updates), for_each_piece))
    server.apply(model, *std::move(mean), round);
  return reports;
}

}  // namespace fedstride
