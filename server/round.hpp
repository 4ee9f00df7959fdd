#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/function_ref.hpp"
#include "server/aggregation.hpp"
#include "server/cohort.hpp"
#include "server/failures.hpp"
#include "server/fleet.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

/// The rounds after which models are evaluated: every `every`-th and the last; none if `every` is 0.
struct EvaluatedRounds {
  std::uint32_t every = 0;
  std::uint32_t last = 0;
  bool has(std::uint32_t round) const { return every > 0 && (round % every == 0 || round == last); }
};

/// The settings that do not change from round to round.
struct RoundRules {
  Cohort cohort;
  RandomSource cohort_source{std::uint64_t{0}};
  std::vector<std::uint64_t> rows = {};  ///< each client's number of rows, for cohorts drawn by size; empty: SumRules::weights
  SumRules sum = {};                     ///< how updates are clipped, weighted, summed and noised
  Aggregation aggregation = {};
  AttackPlan attack = {};  ///< for attackers that see other clients' updates
  EvaluatedRounds evaluated = {};
  AcceptFailures accepted = AcceptFailures::all;
  std::uint64_t separation = 1;  ///< CohortQuestion::separation; above 1 only without virtual time

  std::vector<ClientId> drawn(const CohortQuestion& question) const {
    std::vector<ClientId> drawn = cohort->sample(question);
    std::erase_if(drawn, [&](ClientId client) { return !question.is_in_turn(client); });
    return drawn;
  }
  CohortQuestion question(std::uint32_t round, std::span<const double> losses) const {
    return {round, rows.empty() ? sum.weights : rows, cohort_source, losses, separation};
  }
  Accumulator::Keeps keeps() const { return attack.attack->conspires() ? Accumulator::Keeps::updates : aggregation->reads(); }
};

/// Ends a round whose updates are in `updates`: unmasks sums, counts failures, lets attackers that see others' updates act, and
/// processes reports. `change` may modify the mean update before the server applies it. Returns and throws like
/// run_round.
inline std::vector<ClientReport> end_round(
    std::uint32_t round, const RoundRules& rules, Accumulator&& updates, Server& server, Vector& model,
    ForEachPiece for_each_piece,
    function_ref<Vector(Vector, std::span<const ClientReport>)> change = [](Vector mean, auto) { return mean; }) {
  const std::optional<RoundTotals> totals = updates.unmask(for_each_piece);
  if (const std::string why = failure_text(rules.accepted, round, updates.reports()); !why.empty()) throw FailedRound(why);
  if (rules.attack.attack->conspires()) updates.conspire(rules.attack);
  std::vector<ClientReport> reports = updates.reports();
  server.take(round, reports, rules.sum, totals);

  // From here on, only this mean remains of the updates; under client-level privacy it always contains the noise.
  if (auto mean = rules.aggregation->mean_change(std::move(updates), for_each_piece))
    server.apply(model, change(*std::move(mean), reports), round, rules.sum);
  return reports;
}

/// Runs one round of federated averaging:
///   cohort -> every client trains the model under its local objective -> accumulator (each update clipped, weighted, added
///   exactly) -> aggregation (noise, mean update) -> the objective's server, server optimizer -> the next model.
/// `releases` is the number of releases that each client may make under example-level privacy (Task); clients with none left are
/// excluded. Under secure aggregation only the sums of updates and reports are read (server/secure_sum.hpp). A round without a
/// mean update, because no client finished and there is no client-level privacy, changes nothing. Returns the reports in order
/// of clients. Throws FailedRound, with nothing changed, if more clients failed than RoundRules::accepted allows.
inline std::vector<ClientReport> run_round(std::uint32_t round, const RoundRules& rules, std::vector<ClientId> cohort,
                                           Fleet& fleet, Server& server, Vector& model,
                                           std::span<const std::uint64_t> releases = {}, ForEachPiece for_each_piece = serially) {
  check_aggregation(rules.aggregation, rules.attack.attack, rules.sum);
  std::erase_if(cohort, [&](ClientId client) { return client < releases.size() && releases[client] == 0; });

  const std::vector<double> told = server.tell(round);
  Accumulator updates(rules.sum, round, cohort, server.update_size(), rules.keeps(), pooled_reference(told), server.clip());
  updates.secure(model, fleet.secures(), for_each_piece);
  updates.correlate(server.noise());
  fleet.collect(Task{round, model, releases, told, server.beside(), rules.evaluated.has(round)}, cohort, updates);
  return end_round(round, rules, std::move(updates), server, model, for_each_piece);
}

/// Does the same with a cohort drawn by the rules, all of whose clients take part.
inline std::vector<ClientReport> run_round(std::uint32_t round, const RoundRules& rules, Fleet& fleet, Server& server,
                                           Vector& model, std::span<const std::uint64_t> releases = {},
                                           ForEachPiece for_each_piece = serially) {
  return run_round(round, rules, rules.drawn(rules.question(round, server.losses())), fleet, server, model, releases,
                   for_each_piece);
}

}  // namespace fedstride
