#include "client/trainer.hpp"

#include <algorithm>
#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/vector.hpp>
#include <cmath>
#include <limits>
#include <sstream>

#include "client/outside_training.hpp"
#include "client/report.hpp"
#include "client/trained_ranges.hpp"
#include "core/eigen.hpp"
#include "core/error.hpp"
#include "core/exact_sum.hpp"
#include "core/normals.hpp"
#include "core/serialize.hpp"

namespace fedstride {

// Writes a byte that says whether an optimizer state follows; that state, if there is one; and any vectors kept by the objective,
// the personal model and the compression.
std::string ClientState::save(const LocalTraining& training) const {
  const bool present = training.keep_state && state_ != nullptr;
  std::string room;  // a growing stream would copy its contents
  room.reserve((kept_.size() + personal_.size()) * sizeof(float) + kept_back_.size() * sizeof(kept_back_[0]) + 64);
  std::ostringstream bytes(std::move(room));
  bytes.put(present ? 1 : 0);
  if (present) training.optimizer->save(*state_, bytes);
  if (training.objective->keeps() || training.personal->keeps() || training.coding.keeps()) {
    cereal::PortableBinaryOutputArchive archive(bytes);
    if (training.objective->keeps()) archive(kept_);
    if (training.personal->keeps()) archive(personal_);
    if (training.coding.keeps()) archive(kept_back_);
  }
  return std::move(bytes).str();
}

void ClientState::load(const LocalTraining& training, std::string bytes) {
  try {
    const std::size_t floats = bytes.size() / sizeof(float);
    std::istringstream stream(std::move(bytes));
    const int present = stream.get();
    if (present != 0 && present != 1) throw failure("not a flag");
    state_ = present == 1 ? training.optimizer->make_state() : nullptr;
    if (present == 1) training.optimizer->load(*state_, stream);
    if (!training.objective->keeps() && !training.personal->keeps() && !training.coding.keeps()) return;
    cereal::PortableBinaryInputArchive archive(stream);
    const std::size_t shares = (training.objective->keeps() ? 1 : 0) + (training.personal->keeps() ? 1 : 0) +
                               (training.coding.keeps() ? 2 * static_cast<std::size_t>(training.coding.copies) : 0);
    const auto read = [&](Vector& vector) {
      vector.resize(floats / shares);  // otherwise it would grow piece by piece
      archive(vector);
    };
    if (training.objective->keeps()) read(kept_);
    if (training.personal->keeps()) read(personal_);
    if (training.coding.keeps()) archive(kept_back_);
  } catch (const std::exception&) {
    throw failure("a client's saved state is damaged");
  }
}

std::vector<bool> LocalTraining::unsent() const { return either(frozen, local); }

ClientSkew LocalTraining::skew_of(ClientId client) const { return {&*feature_skew, seed, client, clients}; }

ClientSkew LocalTraining::skew_of_test() const {
  return feature_skew->is_on_test() ? ClientSkew{&*feature_skew, seed, 0, clients, true} : ClientSkew{};
}

Vector personal_weights(const LocalTraining& training, const Model& model, const Vector& weights, const ClientState& state) {
  Vector own = weights;
  const PersonalAtClient at(*training.personal, *training.optimizer, personal_ranges(model, training.local, training.frozen));
  if (training.personal->keeps()) at.restore_own(state.personal_, own);
  return own;
}

int rows_at_once(const LocalTraining& training, std::size_t max_rows) {
  // Lots, whose size is random, are processed in parts of at most this size; plain batches are never divided.
  constexpr std::size_t kMaxLotPart = 256;
  std::size_t most = static_cast<std::size_t>(training.batch);
  if (training.privacy) most = kMaxLotPart;
  return static_cast<int>(std::clamp<std::size_t>(most, 1, std::max<std::size_t>(max_rows, 1)));
}

namespace {

// The batch size of a client with `rows` rows, small enough that the rows suffice for a step.
std::size_t batch_of(const LocalTraining& training, std::size_t rows) {
  const auto read = static_cast<std::size_t>(training.optimizer->batches_per_step());
  return std::clamp<std::size_t>(rows / read, 1, static_cast<std::size_t>(training.batch));
}

std::size_t batches_of_pass(std::size_t rows, std::size_t batch) { return (rows + batch - 1) / batch; }

// The number of steps in an epoch: `set` or, if that is 0, as many as the rows allow.
std::size_t steps_of_epoch(int set, std::size_t rows, std::size_t batch, int batches) {
  const auto read = static_cast<std::size_t>(batches);
  if (set > 0) return static_cast<std::size_t>(set);
  return read == 1 ? batches_of_pass(rows, batch) : rows / (read * batch);
}

// The number of examples in an epoch's batches; the last batch of a pass over the rows may be smaller.
double examples_of_epoch(int set, std::size_t rows, std::size_t batch, int batches) {
  const std::size_t all = steps_of_epoch(set, rows, batch, batches) * static_cast<std::size_t>(batches);
  const std::size_t pass = batches_of_pass(rows, batch);
  const std::size_t passes = all / pass;
  return static_cast<double>(passes) * static_cast<double>(rows) + static_cast<double>(std::min(all % pass * batch, rows));
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
    steps +=
        static_cast<double>(epochs) *
        static_cast<double>(steps_of_epoch(training.steps, rows, batch, training.optimizer->batches_per_step({.epoch = from})));
  }
  return steps;
}

double planned_examples(const LocalTraining& training, ClientId client, std::size_t rows, std::uint32_t round) {
  if (rows == 0) return 0;
  const auto all = static_cast<double>(rows);
  const int first = training.first_epoch(round);
  const int after = std::clamp(first + training.epochs - training.optimizer->epoch_of_change(), 0, training.epochs);
  const auto of_epoch = [&](int epoch, int set) {
    const int gradients = training.optimizer->gradients_per_step({.epoch = epoch});
    const int batches = training.optimizer->batches_per_step({.epoch = epoch});
    return examples_of_epoch(set, rows, batch_of(training, rows), batches) * gradients / batches;
  };
  double examples = training.objective->needs_start() ? all : 0;
  if (training.privacy) {
    const PrivatePlan& plan = *training.privacy->plans[client];
    const double lot = plan.unit() == LotUnit::users ? plan.rate() * all : plan.denominator();
    examples += static_cast<double>(plan.releases_before(first + training.epochs) - plan.releases_before(first)) * lot;
  } else {
    if (after < training.epochs) examples += (training.epochs - after) * of_epoch(first, training.steps);
    if (after > 0) examples += after * of_epoch(first + training.epochs - 1, training.steps);
  }
  return examples + training.personal->epochs() * of_epoch(first, 0);
}

std::uint64_t passes_of_round(const LocalTraining& training, std::size_t rows) {
  if (training.steps == 0 || rows == 0) return static_cast<std::uint64_t>(training.epochs);
  const auto batches =
      static_cast<std::size_t>(training.steps) * static_cast<std::size_t>(training.optimizer->batches_per_step());
  return 1 + batches / batches_of_pass(rows, batch_of(training, rows));
}

Trainer::Trainer(const Model& model, const Dataset& data, const LocalTraining& training, std::size_t max_rows)
    : data_(data),
      training_(training),
      network_(model, rows_at_once(training, max_rows), training.frozen),
      weights_(Vector(model.size())),
      objective_(*training.objective, *training.optimizer, trained_ranges(model, training.frozen)),
      personal_(*training.personal, *training.optimizer, personal_ranges(model, training.local, training.frozen)),
      tester_(model, training.test_examples ? *training.test_examples : data, {}) {
  order_.reserve(max_rows);
  for (const RunningStatistics& one : model.running_statistics())
    running_.insert(running_.end(), {{one.mean, one.size}, {one.variance, one.size}});
  if (training.privacy) private_buffers_.emplace(model, training.frozen);
  if (training.attack.attack->falsifies()) sent_ = trained_ranges(model, training.unsent(), training.objective->sends() ? 2 : 1);
}

std::span<const double> Trainer::told_to_optimizer(const Task& task, ClientId client) const {
  return training_.privacy ? training_.privacy->plans[client]->beyond_clip(task.told) : task.told;
}

void Trainer::train(const Task& task, ClientId client, std::span<const Row> rows, ClientState& state, ForEachPiece for_each_piece,
                    const Signals& signals, UpdateSink sink) {
  weights_ = task.model;
  if (personal_.has_layers()) personal_.restore_own(state.personal_, weights_);
  // If states are not kept, all clients use this thread's spare state, whose memory is reused.
  auto& kept = training_.keep_state ? state.state_ : spare_state_.state_;
  const bool fresh = kept == nullptr;
  if (fresh) kept = training_.optimizer->make_state();
  if (fresh || !training_.keep_state) training_.optimizer->start(*kept, weights_.size());
  training_.optimizer->hear(*kept, told_to_optimizer(task, client));
  objective_.begin(task, state.kept_);
  ClientReport report = train_with(*kept, task, client, rows, for_each_piece, signals);
  if (personal_.has_layers()) {
    personal_.keep_own(weights_, state.personal_);
    personal_.reset_own(task.model, weights_);
  }
  const double weight = training_.weighs_examples ? static_cast<double>(rows.size()) : 1;
  report.measure = objective_.end(task, weights_, state.kept_, update_, weight);
  add_squares_of_means(task.model, weights_, network_.model().running_statistics(), view(update_));
  if (training_.attack.has(client)) falsify(task.round, client);
  if (training_.keep_state || training_.local_release) {
    // With a diverged state the client would diverge in every later round, so it starts the next round with a fresh state.
    if (!ExactSum::admits(view(std::as_const(update_)))) kept = nullptr;
    if (training_.local_release) release_update(*training_.local_release, task.round, client, update_);
  }
  const std::string code = training_.coding.code(task.round, client, state.kept_back_, update_);
  if (personal_.makes()) train_personal(task, client, rows, state.personal_, for_each_piece, signals, report);
  sink({report, view(std::as_const(update_)), code});
}

// The batches of a client without privacy. An epoch reads every row once, in an order drawn for that epoch. If the number of
// steps per epoch is set, an epoch passes over the rows as often as these steps need, in a new order each time.
class Trainer::PlainBatches {
 public:
  PlainBatches(Trainer& trainer, std::span<const Row> rows, std::size_t batch, int set_steps, const BatchAddress& address,
               ForEachPiece for_each_piece, int first_epoch, Purpose order = Purpose::data_order)
      : trainer_(trainer),
        rows_(rows),
        batch_(batch),
        set_steps_(set_steps),
        address_(address),
        for_each_piece_(for_each_piece),
        first_epoch_(first_epoch),
        order_(order),
        skew_(trainer.training_.skew_of(address.client)) {}

  void begin_epoch(int epoch) {
    begin_pass(static_cast<std::uint32_t>(epoch - first_epoch_));
    reads_of_batch_ = trainer_.training_.optimizer->gradients_per_batch();
  }
  std::size_t steps(int /*epoch*/, int gradients) const {
    return steps_of_epoch(set_steps_, rows_.size(), batch_, gradients / reads_of_batch_);
  }
  static bool has(int) { return true; }
  static double next_noise() { return 0; }

  // Reads all rows in order, before the first epoch; dropout and augmentation are drawn at steps that training never reaches.
  void begin_at_start() {
    ahead_ = rows_;
    address_.step = kStepsAtStart;
  }
  std::size_t left() const { return ahead_.size(); }
  std::size_t next_batch() const { return std::min(batch_, ahead_.size()); }
  void end_at_start() { address_.step = 0; }

  PrivateLots::Result gradient(const float* weights, GradientSink sink) {
    if (reads_left_ == 0) {
      if (ahead_.empty()) begin_pass(pass_ + 1);
      batch_rows_ = ahead_.first(std::min(batch_, ahead_.size()));
      ahead_ = ahead_.subspan(batch_rows_.size());
      reads_left_ = reads_of_batch_;
    }
    const auto drawn = batch_rows_;
    Network& network = trainer_.network_;
    fill_batch(trainer_.data_, drawn, trainer_.training_.augmentation, address_, network.inputs(static_cast<int>(drawn.size())),
               skew_);
    const Answers answers = trainer_.answers_.read(trainer_.data_, drawn);
    const BatchLoss result = network.gradient(weights, {answers.labels, drawn, address_, answers.values}, sink, for_each_piece_);
    if (--reads_left_ == 0) ++address_.step;  // all gradients of a batch use the same masks and augmentation
    return {result.loss_sum, drawn.size(), result.sink_sum};
  }

 private:
  void begin_pass(std::uint32_t pass) {
    pass_ = pass;
    trainer_.order_.assign(rows_.begin(), rows_.end());
    RandomStream random(address_.seed, {order_, address_.round, address_.client, pass});
    shuffle(std::span(trainer_.order_), random);
    ahead_ = trainer_.order_;
  }

  static constexpr std::uint32_t kStepsAtStart = std::uint32_t{1} << 31;

  Trainer& trainer_;
  std::span<const Row> rows_;
  std::span<const Row> ahead_;
  std::span<const Row> batch_rows_ = {};
  std::size_t batch_;
  int set_steps_;
  std::uint32_t pass_ = 0;  ///< number of the current pass over the rows, within the round
  int reads_of_batch_ = 1;  ///< gradients per batch; before the first epoch, all rows are read once
  int reads_left_ = 0;
  BatchAddress address_;
  ForEachPiece for_each_piece_;
  int first_epoch_;
  Purpose order_;
  ClientSkew skew_;
};

void Trainer::falsify(std::uint32_t round, ClientId client) {
  if (!training_.attack.attack->falsifies()) return;
  training_.attack.attack->falsify(training_.attack.at(round), client, view(update_));
  keep_only(sent_, update_);
}

void Trainer::gradient_at_start(PlainBatches& batches, std::size_t rows, const Signals& signals, ClientReport& report) {
  Vector& start = objective_.start();
  double loss = 0;
  batches.begin_at_start();
  while (batches.left() > 0) {
    if (signals.stop != nullptr && signals.stop->load(std::memory_order_relaxed)) throw Interrupted{};
    const auto share = static_cast<float>(static_cast<double>(batches.next_batch()) / static_cast<double>(rows));
    const auto result = batches.gradient(weights_.data(), [&](std::size_t offset, std::span<const float> stretch) {
      for (std::size_t i = 0; i < stretch.size(); ++i) start[offset + i] += share * stretch[i];
      return 0.0;
    });
    loss += result.loss_sum;
    report.examples += result.examples;
    if (signals.progress != nullptr) signals.progress->fetch_add(result.examples, std::memory_order_relaxed);
  }
  batches.end_at_start();
  objective_.set_start_loss(loss / static_cast<double>(rows));
}

void Trainer::train_epochs(const Pass& pass, PartState& state, auto& source, const Signals& signals, ClientReport& report) {
  const OptimizerPart& optimizer = *training_.optimizer;
  double loss = 0;
  std::uint64_t loss_examples = 0;
  double batch_loss = std::numeric_limits<double>::quiet_NaN();  // of the last batch; a lot's loss is not passed on
  const auto gradient = [&](const float* at, GradientSink sink) {
    if (signals.stop != nullptr && signals.stop->load(std::memory_order_relaxed)) throw Interrupted{};
    const bool held = at == weights_.data();  // not a half step, which may be undone
    const auto through = [&](std::size_t offset, std::span<const float> stretch) {
      return pass.corrected.emit(at, offset, stretch, sink);
    };
    const auto result = source.gradient(at, pass.corrected.is_plain() ? sink : GradientSink(through));
    if (!training_.privacy) batch_loss = result.loss_sum / static_cast<double>(result.examples);
    if (held) {
      loss += result.loss_sum;
      loss_examples += result.examples;
    }
    report.examples += result.examples;
    if (signals.progress != nullptr) signals.progress->fetch_add(result.examples, std::memory_order_relaxed);
    return result.sink_sum;
  };
  if (!running_.empty()) network_.forget_batches();  // of other clients, and of gradients before the first step
  Progress progress{.epoch = pass.first_epoch};
  for (; progress.epoch < pass.first_epoch + pass.epochs; ++progress.epoch) {
    std::span<const ParameterRange> held;
    if (pass.is_ordinary) {
      held = personal_.held(progress.epoch - pass.first_epoch);
      objective_.hold(held);
      gather(held, weights_, held_);
    }
    const int gradients = optimizer.gradients_per_step(progress);
    source.begin_epoch(progress.epoch);
    const std::size_t steps = source.steps(progress.epoch, gradients);
    for (std::size_t step = 0; step < steps && source.has(gradients); ++step) {
      progress.of_round =
          (progress.epoch - pass.first_epoch + static_cast<double>(step) / static_cast<double>(steps)) / pass.epochs;
      progress.noise = source.next_noise();
      if (!running_.empty()) gather(running_, weights_, running_before_);
      const StepReport outcome = optimizer.step(state, scratch_, weights_, Gradient(gradient, batch_loss), progress);
      if (!running_.empty()) {
        scatter(running_, running_before_, weights_);  // no gradient, weight decay or pull moves running statistics
        network_.add_batches(outcome.accepted ? weights_.data() : nullptr);
      }
      scatter(held, held_, weights_);  // momentum may have moved the held weights
      ++report.steps;
      report.rejected += outcome.accepted ? 0 : 1;
      if (pass.is_ordinary) objective_.record(outcome);
      if (!std::isnan(outcome.statistic)) report.statistic += outcome.statistic, ++report.statistics;
      if (!std::isnan(outcome.alignment)) report.alignment += outcome.alignment, ++report.pairs;
    }
  }
  report.loss = loss_examples > 0 ? loss / static_cast<double>(loss_examples) : 0;
  progress.of_round = 1;
  report.learning_rate = optimizer.learning_rate(state, progress);
}

ClientReport Trainer::train_with(PartState& state, const Task& task, ClientId client, std::span<const Row> rows,
                                 ForEachPiece for_each_piece, const Signals& signals) {
  ClientReport report{.client = client, .rows = rows.size()};
  const BatchAddress address{training_.seed, task.round, client, 0};
  const int first_epoch = training_.first_epoch(task.round);
  const Pass pass{first_epoch, training_.epochs, objective_.corrected()};
  if (training_.privacy) {
    const PrivatePlan& plan = *training_.privacy->plans[client];
    Canaries* canaries = training_.privacy->canary_client == client ? training_.privacy->canaries.get() : nullptr;
    const std::vector<Row> with_canaries = canaries != nullptr ? canaries->beside(rows) : std::vector<Row>{};
    const std::span<const Row> drawn_from = canaries != nullptr ? std::span(with_canaries) : rows;
    PrivateLots source(
        {data_, training_.augmentation, network_, *private_buffers_, for_each_piece, training_.skew_of(client), canaries},
        {plan,
         training_.privacy->source,
         drawn_from,
         {task.round, client, plan.releases_before(first_epoch), task.releases[client], plan.round_clip(task.told)},
         data_.user_of_row()},
        address);
    train_epochs(pass, state, source, signals, report);
    source.report(report);
  } else {
    PlainBatches source(*this, rows, batch_of(training_, rows.size()), training_.steps, address, for_each_piece, first_epoch);
    if (objective_.needs_start()) gradient_at_start(source, rows.size(), signals, report);
    train_epochs(pass, state, source, signals, report);
  }
  return report;
}

void Trainer::train_personal(const Task& task, ClientId client, std::span<const Row> rows, Vector& kept,
                             ForEachPiece for_each_piece, const Signals& signals, ClientReport& report) {
  constexpr std::uint32_t kStepsOfPersonal = std::uint32_t{3} << 30;  // beyond all other steps
  weights_ = task.model;
  personal_.restore_own(kept, weights_);
  if (personal_.epochs() > 0) {
    auto& state = spare_state_.state_;
    if (state == nullptr) state = training_.optimizer->make_state();
    training_.optimizer->start(*state, weights_.size());
    training_.optimizer->hear(*state, told_to_optimizer(task, client));
    const CorrectedGradient corrected = personal_.second_pass(task.model);
    const int first_epoch = training_.first_epoch(task.round);  // schedules use the round's epoch
    const std::size_t batch = std::min(batch_of(training_, rows.size()), static_cast<std::size_t>(network_.max_rows()));
    PlainBatches source(*this, rows, batch, 0, {training_.seed, task.round, client, kStepsOfPersonal}, for_each_piece,
                        first_epoch, Purpose::personal_order);
    ClientReport aside;
    train_epochs({first_epoch, personal_.epochs(), corrected, false}, *state, source, {nullptr, signals.stop}, aside);
    personal_.keep_own(weights_, kept);
  }
  const std::span<const Row> tested = task.tests && training_.test_rows ? training_.test_rows(client) : std::span<const Row>();
  if (tested.empty()) return;
  if (!ExactSum::admits(view(std::as_const(weights_))))
    weights_ = task.model;  // the client then restarts from the model received
  tester_.regroup({tested}, {training_.skew_of(client)});
  const GroupEvaluation result = tester_.evaluate(weights_, for_each_piece).front();
  report.personal_examples = result.answers;
  report.personal_correct = result.correct;
  report.personal_loss = result.loss <= kMaxLoss ? result.loss : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace fedstride
