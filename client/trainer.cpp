#include "client/trainer.hpp"

#include <algorithm>
#include <cereal/archives/portable_binary.hpp>
#include <sstream>

#include "core/eigen.hpp"
#include "core/error.hpp"
#include "core/exact_sum.hpp"
#include "core/normals.hpp"
#include "core/serialize.hpp"

namespace fedstride {

std::string ClientState::save(const Optimizer& kind) const {
  std::ostringstream stream;
  cereal::PortableBinaryOutputArchive archive(stream);
  std::visit(
      [&]<class O>(const O&) {
        const auto* state = std::get_if<StateOf<O>>(&state_);
        archive(static_cast<std::uint8_t>(state != nullptr));
        if (state != nullptr) archive(state->value);
      },
      kind);
  return stream.str();
}

void ClientState::load(const Optimizer& kind, const std::string& bytes) {
  try {
    std::istringstream stream(bytes);
    cereal::PortableBinaryInputArchive archive(stream);
    std::visit(
        [&]<class O>(const O&) {
          std::uint8_t present = 0;
          archive(present);
          if (present > 1) throw failure("not a flag");
          state_ = {};
          if (present == 1) archive(state_.emplace<StateOf<O>>().value);
        },
        kind);
  } catch (const std::exception&) {
    throw failure("a client's saved state is damaged");
  }
}

int rows_at_once(const LocalTraining& training, std::size_t max_rows) {
  // Lots of random size are cut where they are larger than this; plain batches never are.
  constexpr std::size_t kMostOfALot = 256;
  std::size_t most = static_cast<std::size_t>(training.batch);
  if (training.privacy) most = kMostOfALot;
  return static_cast<int>(std::clamp<std::size_t>(most, 1, std::max<std::size_t>(max_rows, 1)));
}

Trainer::Trainer(const Model& model, const Dataset& data, const LocalTraining& training, std::size_t max_rows)
    : data_(data),
      training_(training),
      network_(model, rows_at_once(training, max_rows), training.frozen),
      weights_(Vector(model.size())),
      labels_(static_cast<std::size_t>(network_.max_rows())) {
  order_.reserve(max_rows);
  if (training.privacy) workshop_.emplace(model, training.frozen);
}

void Trainer::train(const Task& task, ClientId client, std::span<const Row> rows, ClientState& state,
                    ForEachPiece for_each_piece, const Signals& signals, UpdateSink sink) {
  weights_ = task.model;
  const ClientReport report = std::visit(
      [&]<class O>(const O& optimizer) {
        // A state that is not kept still has a place, in this thread's own spare one, so that its memory is reused.
        auto& kept = training_.keep_state ? state.state_ : spare_state_.state_;
        const bool fresh = !std::holds_alternative<StateOf<O>>(kept);
        if (fresh) kept.template emplace<StateOf<O>>();
        auto& own = std::get<StateOf<O>>(kept).value;
        if (fresh || !training_.keep_state) optimizer.start(own, weights_.size());
        ClientReport result = train_with(optimizer, own, task, client, rows, for_each_piece, signals);
        change_.resize(weights_.size());
        eigen(change_) = eigen(weights_) - eigen(task.model);
        // What a diverged client remembers would make it diverge for ever: it starts afresh in its next round.
        if (!ExactSum::admits(view(std::as_const(change_))))
          kept = {};
        else if (training_.local_release)
          release_change(*training_.local_release, task.round, client);
        return result;
      },
      training_.optimizer);
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
    RandomStream random(address_.seed, {Purpose::data_order, address_.round, address_.client,
                                        static_cast<std::uint32_t>(epoch - first_epoch_)});
    shuffle(std::span(trainer_.order_), random);
    ahead_ = trainer_.order_;
  }
  std::size_t steps(int /*epoch*/, int batches) const {
    const auto read = static_cast<std::size_t>(batches);
    return read == 1 ? (rows_.size() + batch_ - 1) / batch_ : rows_.size() / (read * batch_);
  }
  static bool has(int) { return true; }

  PrivateLots::Result gradient(const float* weights, GradientSink sink) {
    const auto drawn = ahead_.first(std::min(batch_, ahead_.size()));
    ahead_ = ahead_.subspan(drawn.size());
    const auto labels = std::span(trainer_.labels_).first(drawn.size());
    Network& network = trainer_.network_;
    fill_batch(trainer_.data_, drawn, trainer_.training_.augmentation, address_,
               network.inputs(static_cast<int>(drawn.size())));
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
  add_normals(release.source, {Purpose::client_noise, round, client}, 0,
              static_cast<float>(release.standard_deviation), view(change_));
  keep_only(release.trained, change_);
}

template <class O, class Source>
void Trainer::train_epochs(const O& optimizer, typename O::State& state, Source& source, int first_epoch,
                           const Signals& signals, ClientReport& report) {
  auto& scratch = std::get<ScratchOf<O>>(scratch_).value;
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
    const int batches = gradients_per_step(optimizer, progress);
    source.begin_epoch(progress.epoch);
    const std::size_t steps = source.steps(progress.epoch, batches);
    for (std::size_t step = 0; step < steps && source.has(batches); ++step) {
      const StepReport outcome = optimizer.step(state, scratch, weights_, Gradient(gradient), progress);
      ++report.steps;
      report.rejected += outcome.accepted ? 0 : 1;
    }
  }
  report.loss = loss_examples > 0 ? loss / static_cast<double>(loss_examples) : 0;
  report.learning_rate = optimizer.learning_rate(state, progress);
}

template <class O>
ClientReport Trainer::train_with(const O& optimizer, typename O::State& state, const Task& task, ClientId client,
                                 std::span<const Row> rows, ForEachPiece for_each_piece, const Signals& signals) {
  if (!std::holds_alternative<ScratchOf<O>>(scratch_)) scratch_.template emplace<ScratchOf<O>>();
  ClientReport report{.client = client, .rows = rows.size()};
  const BatchAddress address{training_.seed, task.round, client, 0};
  const int first_epoch = static_cast<int>(task.round - 1) * training_.epochs;
  if (training_.privacy) {
    const PrivatePlan& plan = *training_.privacy->plans[client];
    PrivateLots source({data_, training_.augmentation, network_, *workshop_, for_each_piece}, plan,
                       training_.privacy->source, rows, address, plan.releases_before(first_epoch),
                       task.releases[client]);
    train_epochs(optimizer, state, source, first_epoch, signals, report);
    source.report(report);
  } else {
    constexpr std::size_t kMost = O::kGradientsPerStep;
    const std::size_t batch = std::clamp<std::size_t>(rows.size() / kMost, 1, static_cast<std::size_t>(training_.batch));
    PlainBatches source(*this, rows, batch, address, for_each_piece, first_epoch);
    train_epochs(optimizer, state, source, first_epoch, signals, report);
  }
  return report;
}

}  // namespace fedstride
