#include "client/trainer.hpp"

#include <algorithm>
#include <cereal/archives/portable_binary.hpp>
#include <sstream>

#include "core/error.hpp"
#include "core/exact_sum.hpp"
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

Trainer::Trainer(const Model& model, const Dataset& data, const LocalTraining& training, std::size_t max_rows)
    : data_(data),
      training_(training),
      network_(model, static_cast<int>(std::min(max_rows, static_cast<std::size_t>(training.batch))), training.frozen),
      weights_(Vector::Zero(static_cast<Eigen::Index>(model.size()))),
      labels_(static_cast<std::size_t>(network_.max_rows())) {
  order_.reserve(max_rows);
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
        if (fresh || !training_.keep_state) optimizer.start(own, static_cast<std::size_t>(weights_.size()));
        ClientReport result = train_with(optimizer, own, task, client, rows, for_each_piece, signals);
        change_ = weights_ - task.model;
        // What a diverged client remembers would make it diverge for ever: it starts afresh in its next round.
        if (!ExactSum::admits(view(std::as_const(change_)))) kept = {};
        return result;
      },
      training_.optimizer);
  sink({report, view(std::as_const(change_))});
}

template <class O>
ClientReport Trainer::train_with(const O& optimizer, typename O::State& state, const Task& task, ClientId client,
                                 std::span<const Row> rows, ForEachPiece for_each_piece, const Signals& signals) {
  if (!std::holds_alternative<ScratchOf<O>>(scratch_)) scratch_.template emplace<ScratchOf<O>>();
  auto& scratch = std::get<ScratchOf<O>>(scratch_).value;

  constexpr std::size_t kBatches = O::kGradientsPerStep;
  const std::size_t batch = std::clamp<std::size_t>(rows.size() / kBatches, 1, static_cast<std::size_t>(training_.batch));
  const std::size_t steps = kBatches == 1 ? (rows.size() + batch - 1) / batch : rows.size() / (kBatches * batch);

  ClientReport report{.client = client, .rows = rows.size()};
  double loss = 0;
  std::uint64_t loss_examples = 0;
  BatchAddress address{training_.seed, task.round, client, 0};
  Progress progress{.epoch = static_cast<int>(task.round - 1) * training_.epochs};
  for (int epoch = 0; epoch < training_.epochs; ++epoch, ++progress.epoch) {
    order_.assign(rows.begin(), rows.end());
    RandomStream random(training_.seed, {Purpose::data_order, task.round, client, static_cast<std::uint32_t>(epoch)});
    shuffle(std::span(order_), random);
    std::span<const Row> ahead(order_);
    const auto gradient = [&](const float* at, GradientSink sink) {
      if (signals.stop != nullptr && signals.stop->load(std::memory_order_relaxed)) throw Interrupted{};
      const auto drawn = ahead.first(std::min(batch, ahead.size()));
      ahead = ahead.subspan(drawn.size());
      const auto labels = std::span(labels_).first(drawn.size());
      fill_batch(data_, drawn, training_.augmentation, address, network_.inputs(static_cast<int>(drawn.size())));
      fill_labels(data_, drawn, labels);
      const BatchLoss result = network_.gradient(at, {labels, drawn, address}, sink, for_each_piece);
      ++address.step;
      if (at == weights_.data()) {  // not at a half step, which may be undone
        loss += result.loss_sum;
        loss_examples += drawn.size();
      }
      report.examples += drawn.size();
      if (signals.progress != nullptr) signals.progress->fetch_add(drawn.size(), std::memory_order_relaxed);
      return result.sink_sum;
    };
    for (std::size_t step = 0; step < steps; ++step) {
      const StepReport outcome = optimizer.step(state, scratch, weights_, Gradient(gradient), progress);
      ++report.steps;
      report.rejected += outcome.accepted ? 0 : 1;
    }
  }
  report.loss = loss_examples > 0 ? loss / static_cast<double>(loss_examples) : 0;
  report.learning_rate = optimizer.learning_rate(state, progress);
  return report;
}

}  // namespace fedstride
