#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/task.hpp"
#include "dp/noise/client_release.hpp"
#include "server/cohort.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

/// A fleet carries a task to the clients of a cohort and brings their updates back, each once, in any order, from any
/// thread. Clients that fail are absent. In one process or over a network: the round does not know.
template <class T>
concept Fleet = requires(T fleet, const Task& task, const std::vector<ClientId>& cohort, UpdateSink sink) {
  fleet.collect(task, cohort, sink);
};

/// Client-level privacy where the coordinator adds the noise: every update is clipped before it is summed.
struct CentralRelease {
  UpdateClip clip;
  ClientNoise noise;
  std::vector<ParameterRange> trained;  ///< where the model moves; noise on frozen parameters is dropped
  RandomSource source;
};

/// What does not change from round to round.
struct RoundRules {
  Cohort cohort;
  RandomSource cohort_source{std::uint64_t{0}};
  ServerOptimizer server;
  std::vector<std::uint64_t> weights;  ///< of each client's update in the mean, from the coordinator's own roster
  double denominator = 0;              ///< what the sum is divided by; 0: by the weights that came
  std::optional<CentralRelease> release = {};
};

/// Federated averaging, one round:
///   sample a cohort -> every client trains the model -> exact weighted sum of the changes (+ noise) -> server optimiser.
/// `releases` is what each client may spend of its example-level privacy (Task); a client with nothing left stays out.
/// An update that is not finite or out of the exact sum's range is left out and named; without privacy a round nobody
/// finished changes nothing. Returns the reports in order of clients.
template <Fleet F>
std::vector<ClientReport> run_round(std::uint32_t round, const RoundRules& rules, F& fleet, Vector& model,
                                    std::span<const std::uint64_t> releases = {}) {
  std::vector<ClientId> cohort = rules.cohort->sample(round, rules.weights.size(), rules.cohort_source);
  std::erase_if(cohort, [&](ClientId client) { return !releases.empty() && releases[client] == 0; });

  ExactSum sum(model.size());
  std::vector<ClientReport> reports;
  std::mutex mutex;
  fleet.collect(Task{round, model, releases}, cohort, [&](const ClientUpdate& update) {
    const bool admitted = ExactSum::admits(update.change);
    Vector clipped;
    if (admitted && rules.release) rules.release->clip.clip(update.change, clipped);
    const std::lock_guard lock(mutex);
    if (admitted) sum.add(rules.release ? view(clipped) : update.change, rules.weights[update.report.client]);
    reports.push_back(update.report);
    if (!admitted) reports.back().failure = "its training diverged: the update is not finite or 2^22 and larger";
  });

  if (rules.release) add_noise(sum, rules.release->noise, rules.release->source, {Purpose::client_noise, round});
  if (sum.weight() > 0 || rules.release) {
    Vector mean_change;
    sum.divided_by(rules.denominator > 0 ? rules.denominator : static_cast<double>(sum.weight()), mean_change);
    if (rules.release) keep_only(rules.release->trained, mean_change);
    rules.server->apply(model, mean_change);
  }
  std::ranges::sort(reports, {}, &ClientReport::client);
  return reports;
}

}  // namespace fedstride
