#include "client/outside_training.hpp"

#include <algorithm>
#include <utility>

#include "client/report.hpp"
#include "core/exact_sum.hpp"
#include "dp/noise/grid_noise.hpp"

namespace fedstride {

namespace {

void add_lots(const LocalTraining& training, const Task& task, const OutsideAnswer& answer, ClientReport& report) {
  const PrivatePlan& plan = *training.privacy->plans[answer.client];
  report.releases = plan.noise().runs(plan.releases_before(training.first_epoch(task.round)), task.releases[answer.client]);
  add_to_report(answer.lots, answer.empty_lots, report);
}

}  // namespace

OutsideTask outside_task(const LocalTraining& training, const Task& task, ClientId client, std::uint64_t rows,
                         std::string state) {
  RandomStream random(training.seed, {.purpose = Purpose::outside_training, .round = task.round, .client = client});
  OutsideTask one{
      .round = task.round, .client = client, .rows = rows, .seed = random.bits64() >> 1, .lots = {}, .state = std::move(state)};
  if (training.privacy)  // a client without examples has no plan and no lots
    one.lots = OutsideLotsTerms{.plan = rows > 0 ? *training.privacy->plans[client] : PrivatePlan(),
                                .source = training.privacy->source,
                                .round = task.round,
                                .client = client,
                                .rows = rows,
                                .first_epoch = training.first_epoch(task.round),
                                .epochs = training.epochs,
                                .reserved = rows > 0 ? task.releases[client] : 0};
  return one;
}

void send_answer(const LocalTraining& training, const Task& task, std::uint64_t rows, OutsideAnswer answer, UpdateSink sink) {
  ClientReport told{.client = answer.client,
                    .rows = rows,
                    .examples = answer.examples,
                    .loss = answer.loss,
                    .learning_rate = std::numeric_limits<double>::quiet_NaN(),
                    .failure = std::move(answer.failure)};
  if (training.privacy && rows > 0) add_lots(training, task, answer, told);
  const ClientReport report = sendable(std::move(told));
  Vector& update = answer.weights;
  if (!report.failure.empty()) return sink({report, {}});
  std::ranges::transform(update, task.model, update.begin(), std::minus<>{});
  if (training.local_release) release_update(*training.local_release, task.round, answer.client, update);
  KeptBack none;
  const std::string code = training.coding.code(task.round, answer.client, none, update);
  sink({report, view(std::as_const(update)), code});
}

void release_update(const LocalRelease& release, std::uint32_t round, ClientId client, Vector& update) {
  // That training diverged is a fact about the client's rows: the coordinator receives noise on zeros.
  Vector clipped(update.size());
  if (ExactSum::admits(view(std::as_const(update)))) release.clip.clip(view(std::as_const(update)), clipped);
  const std::vector<double> sum(clipped.begin(), clipped.end());
  update.resize(sum.size());
  release_on_grid(release.grid, release.source, {Purpose::client_noise, round, client}, 0, sum, 1, view(update));
  keep_only(release.trained, update);
}

}  // namespace fedstride
