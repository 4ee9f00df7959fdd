#include "client/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/eigen.hpp"
#include "core/error.hpp"
#include "core/exact_sum.hpp"
#include "core/normals.hpp"

namespace fedstride {

// One byte that says whether a state follows, then the state.
std::string ClientState::save(const Optimizer& kind) const {
  std::ostringstream bytes;
  bytes.put(state_ != nullptr ? 1 : 0);
  if (state_ != nullptr) kind->save(*state_, bytes);
  return bytes.str();
}

void ClientState::load(const Optimizer& kind, const std::string& bytes) {
  try {
    std::istringstream stream(bytes);
    const int present = stream.get();
    if (present != 0 && present != 1) throw failure("not a flag");
    state_ = present == 1 ? kind->make_state() : nullptr;
    if (present == 1) kind->load(*state_, stream);
  } catch (const std::exception&) {
    throw failure("a client's saved state is damaged");
  }
}

int rows_at_once(const LocalTraining& training, std::size_t max_rows) {
  // Lots of random size are cut where they are larger than this; plain batches never are.
  constexpr std::size_t kMaxLotPart = 256;
  std::size_t most = static_cast<std::size_t>(training.batch);
  if (training.privacy) most = kMaxLotPart;
  return static_cast<int>(std::clamp<std::size_t>(most, 1, std::max<std::size_t>(max_rows, 1)));
}

namespace {

// The batch of a client with so many rows: no more than fill one step.
std::size_t batch_of(const LocalTraining& training, std::size_t rows) {
  const auto read = static_cast<std::size_t>(training.optimizer->gradients_per_step());
  return std::clamp<std::size_t>(rows / read, 1, static_cast<std::size_t>(training.batch));
}

std::size_t steps_of_epoch(std::size_t rows, std::size_t batch, int batches) {
  const auto read = static_cast<std::size_t>(batches);
  return read == 1 ? (rows + batch - 1) / batch : rows / (read * batch);
}

}  // namespace

double steps_of(const LocalTraining& training, ClientId client, std::size_t rows, std::uint32_t rounds) {
  const int end = static_cast<int>(rounds) * training.epochs;
  if (training.privacy) {
    const auto releases = static_cast<double>(training.privacy->plans[client]->releases_before(end));
    return releases / training.optimizer->gradients_per_step();
  }
  const int change = training.optimizer->epoch_of_change();
  const std::size_t batch = batch_of(training, rows);
  double steps = 0;
  for (const int from : {0, change}) {
    const int epochs = from == 0 ? std::min(end, change) : std::max(0, end - change);
    if (epochs == 0) continue;
    steps += static_cast<double>(epochs) *
             static_cast<double>(steps_of_epoch(rows, batch, training.optimizer->gradients_per_step({.epoch = from})));
  }
  return steps;
}

Trainer::Trainer(const Model& model, const Dataset& data, const LocalTraining& training, std::size_t max_rows)
    : data_(data),
      training_(training),
      network_(model, rows_at_once(training, max_rows), training.frozen),
      weights_(Vector(model.size())),
      scratch_(training.optimizer->make_scratch()),
      labels_(static_cast<std::size_t>(network_.max_rows())) {
  order_.reserve(max_rows);
  if (training.privacy) workshop_.emplace(model, training.frozen);
}

void Trainer::train(const Task& task, ClientId client, std::span<const Row> rows, ClientState& state, ForEachPiece for_each_piece,
                    const Signals& signals, UpdateSink sink) {
  weights_ = task.model;
  // A state that is not kept still has a place, in this thread's own spare one, so that its memory is reused.
  auto& kept = training_.keep_state ? state.state_ : spare_state_.state_;
  const bool fresh = kept == nullptr;
  if (fresh) kept = training_.optimizer->make_state();
  if (fresh || !training_.keep_state) training_.optimizer->start(*kept, weights_.size());
  training_.optimizer->hear(*kept, task.told);
  const ClientReport report = train_with(*kept, task, client, rows, for_each_piece, signals);
  change_.resize(weights_.size());
  eigen(change_) = eigen(weights_) - eigen(task.model);
  // A diverged client's state would make it diverge again in every round: the next round starts from a fresh state.
  if (!ExactSum::admits(view(std::as_const(change_))))
    kept = nullptr;
  else if (training_.local_release)
    release_change(*training_.local_release, task.round, client);
  sink({report, view(std::as_const(change_))});
}

// Batches of a client without privacy: every row once an epoch, in an order drawn for it.
class Trainer::PlainBatches {
 public:
  PlainBatches(Trainer& trainer, std::span<const Row> rows, std::size_t batch, const BatchAddress& address,
               ForEachPiece for_each_piece, int first_epoch)
      : trainer_(trainer),
        rows_(rows),
        batch_(batch),
        address_(address),
        for_each_piece_(for_each_piece),
        first_epoch_(first_epoch) {}

  void begin_epoch(int epoch) {
    trainer_.order_.assign(rows_.begin(), rows_.end());
    RandomStream random(address_.seed,
                        {Purpose::data_order, address_.round, address_.client, static_cast<std::uint32_t>(epoch - first_epoch_)});
    shuffle(std::span(trainer_.order_), random);
    ahead_ = trainer_.order_;
  }
  std::size_t steps(int /*epoch*/, int batches) const { return steps_of_epoch(rows_.size(), batch_, batches); }
  static bool has(int) { return true; }

  PrivateLots::Result gradient(const float* weights, GradientSink sink) {
    const auto drawn = ahead_.first(std::min(batch_, ahead_.size()));
    ahead_ = ahead_.subspan(drawn.size());
    const auto labels = std::span(trainer_.labels_).first(drawn.size());
    Network& network = trainer_.network_;
    fill_batch(trainer_.data_, drawn, trainer_.training_.augmentation, address_, network.inputs(static_cast<int>(drawn.size())));
    fill_labels(trainer_.data_, drawn, labels);
    const BatchLoss result = network.gradient(weights, {labels, drawn, address_}, sink, for_each_piece_);
    ++address_.step;
    return {result.loss_sum, drawn.size(), result.sink_sum};
  }

 private:
  Trainer& trainer_;
  std::span<const Row> rows_;
  std::span<const Row> ahead_;
  std::size_t batch_;
  BatchAddress address_;
  ForEachPiece for_each_piece_;
  int first_epoch_;
};

void Trainer::release_change(const LocalRelease& release, std::uint32_t round, ClientId client) {
  Vector clipped;
  release.clip.clip(view(std::as_const(change_)), clipped);
  change_.swap(clipped);
  add_normals(release.source, {Purpose::client_noise, round, client}, 0, static_cast<float>(release.standard_deviation),
              view(change_));
  keep_only(release.trained, change_);
}

template <class Source>
void Trainer::train_epochs(OptimizerState& state, Source& source, int first_epoch, const Signals& signals, ClientReport& report) {
  const OptimizerPart& optimizer = *training_.optimizer;
  double loss = 0;
  std::uint64_t loss_examples = 0;
  const auto gradient = [&](const float* at, GradientSink sink) {
    if (signals.stop != nullptr && signals.stop->load(std::memory_order_relaxed)) throw Interrupted{};
    const bool held = at == weights_.data();  // not a half step, which may be undone
    const auto result = source.gradient(at, sink);
    if (held) {
      loss += result.loss_sum;
      loss_examples += result.examples;
    }
    report.examples += result.examples;
    if (signals.progress != nullptr) signals.progress->fetch_add(result.examples, std::memory_order_relaxed);
    return result.sink_sum;
  };
  Progress progress{.epoch = first_epoch};
  for (; progress.epoch < first_epoch + training_.epochs; ++progress.epoch) {
    const int batches = optimizer.gradients_per_step(progress);
    source.begin_epoch(progress.epoch);
    const std::size_t steps = source.steps(progress.epoch, batches);
    for (std::size_t step = 0; step < steps && source.has(batches); ++step) {
      progress.of_round =
          (progress.epoch - first_epoch + static_cast<double>(step) / static_cast<double>(steps)) / training_.epochs;
      const StepReport outcome = optimizer.step(state, *scratch_, weights_, Gradient(gradient), progress);
      ++report.steps;
      report.rejected += outcome.accepted ? 0 : 1;
      if (std::isnan(outcome.statistic)) continue;
      report.statistic += outcome.statistic;
      ++report.statistics;
    }
  }
  report.loss = loss_examples > 0 ? loss / static_cast<double>(loss_examples) : 0;
  progress.of_round = 1;
  report.learning_rate = optimizer.learning_rate(state, progress);
}

ClientReport Trainer::train_with(OptimizerState& state, const Task& task, ClientId client, std::span<const Row> rows,
                                 ForEachPiece for_each_piece, const Signals& signals) {
  ClientReport report{.client = client, .rows = rows.size()};
  const BatchAddress address{training_.seed, task.round, client, 0};
  const int first_epoch = static_cast<int>(task.round - 1) * training_.epochs;
  if (training_.privacy) {
    const PrivatePlan& plan = *training_.privacy->plans[client];
    PrivateLots source({data_, training_.augmentation, network_, *workshop_, for_each_piece}, plan, training_.privacy->source,
                       rows, address, plan.releases_before(first_epoch), task.releases[client]);
    train_epochs(state, source, first_epoch, signals, report);
    source.report(report);
  } else {
    PlainBatches source(*this, rows, batch_of(training_, rows.size()), address, for_each_piece, first_epoch);
    train_epochs(state, source, first_epoch, signals, report);
  }
  return report;
}

}  // namespace fedstride
