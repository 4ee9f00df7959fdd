#include "client/outside_training.hpp"

#include <algorithm>
#include <utility>

#include "client/report.hpp"
#include "core/exact_sum.hpp"
#include "core/normals.hpp"

namespace fedstride {

OutsideTask outside_task(const LocalTraining& training, std::uint32_t round, ClientId client, std::uint64_t rows,
                         std::string state) {
  RandomStream random(training.seed, {.purpose = Purpose::outside_training, .round = round, .client = client});
  return {round, client, rows, random.bits64() >> 1, std::move(state)};
}

void send_answer(const LocalTraining& training, const Task& task, std::uint64_t rows, OutsideAnswer answer, UpdateSink sink) {
  const ClientReport report = sendable({.client = answer.client,
                                        .rows = rows,
                                        .examples = answer.examples,
                                        .loss = answer.loss,
                                        .learning_rate = std::numeric_limits<double>::quiet_NaN(),
                                        .gradient_norm = 0,
                                        .clipped_share = 0,
                                        .failure = std::move(answer.failure)});
  Vector& update = answer.weights;
  if (!report.failure.empty()) return sink({report, {}});
  std::ranges::transform(update, task.model, update.begin(), std::minus<>{});
  if (training.local_release && ExactSum::admits(view(std::as_const(update))))
    release_update(*training.local_release, task.round, answer.client, update);
  sink({report, view(std::as_const(update))});
}

void release_update(const LocalRelease& release, std::uint32_t round, ClientId client, Vector& update) {
  Vector clipped;
  release.clip.clip(view(std::as_const(update)), clipped);
  update.swap(clipped);
  add_normals(release.source, {Purpose::client_noise, round, client}, 0, static_cast<float>(release.standard_deviation),
              view(update));
  keep_only(release.trained, update);
}

}  // namespace fedstride
