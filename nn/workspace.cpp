#include "nn/workspace.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>

#include "core/simd.hpp"
#include "data/batch.hpp"
#include "data/example_form.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/kernels/softmax.hpp"

namespace fedstride {
namespace {

/// The loss of one example and its number of correct answers.
struct ExampleLoss {
  double loss = 0;            ///< the mean over the counted answers; 0 if none
  std::uint64_t correct = 0;  ///< flags: a score above 0 means yes; values: always 0
  std::uint64_t counted = 0;
  Label predicted = 0;  ///< Targets::classes only
};

using Scores = const float*;

ExampleLoss class_loss(const ExampleForm& form, const Answers& answers, std::size_t row, Scores scores, const float* scale,
                       float* gradient) {
  const Label label = answers.labels[row];
  const RowLoss loss = softmax_row(scores, form.outputs, label, scale == nullptr ? 0.0F : *scale, gradient);
  return {loss.loss, loss.predicted == label ? 1U : 0U, 1, static_cast<Label>(loss.predicted)};
}

ExampleLoss position_loss(const ExampleForm& form, const Answers& answers, std::size_t row, Scores scores, const float* scale,
                          float* gradient) {
  const auto length = static_cast<std::size_t>(form.shape.height);
  const auto labels = answers.labels.subspan(row * length, length);
  const std::size_t stride = row_stride(static_cast<std::size_t>(form.outputs));
  ExampleLoss total;
  for (const Label label : labels) total.counted += label == kNoLabel ? 0 : 1;
  const float share = scale == nullptr || total.counted == 0 ? 0.0F : *scale / static_cast<float>(total.counted);
  for (std::size_t t = 0; t < length; ++t) {
    float* const to = gradient == nullptr ? nullptr : gradient + t * stride;
    if (labels[t] == kNoLabel) {
      if (to != nullptr) std::fill_n(to, stride, 0.0F);
      continue;
    }
    const RowLoss loss = softmax_row(scores + t * stride, form.outputs, labels[t], share, to);
    total.loss += loss.loss;
    total.correct += loss.predicted == labels[t] ? 1 : 0;
  }
  if (total.counted > 0) total.loss /= static_cast<double>(total.counted);
  return total;
}

/// Averages loss(score, answer), which returns a loss and its slope, over an example's answers.
ExampleLoss number_loss(const ExampleForm& form, const Answers& answers, std::size_t row, Scores scores, const float* scale,
                        float* gradient, auto&& loss) {
  const auto count = static_cast<std::size_t>(form.outputs);
  const auto values = answers.values.subspan(row * count, count);
  const double share = scale == nullptr ? 0 : static_cast<double>(*scale) / static_cast<double>(count);
  ExampleLoss total{.counted = count};
  if (gradient != nullptr) std::fill_n(gradient, whole_lanes(count), 0.0F);
  for (std::size_t k = 0; k < count; ++k) {
    const auto [value, slope] = loss(static_cast<double>(scores[k]), static_cast<double>(values[k]));
    total.loss += value;
    if (gradient != nullptr) gradient[k] = static_cast<float>(share * slope);
  }
  total.loss /= static_cast<double>(count);
  return total;
}

struct LossAndSlope {
  double loss;
  double slope;
};

LossAndSlope squared_error(double score, double value) {
  const double error = score - value;
  return {error * error, 2 * error};
}

LossAndSlope logistic_loss(double score, double flag) {
  const Logistic at = logistic(static_cast<float>(score));
  return {at.softplus - score * flag, static_cast<double>(at.sigmoid) - flag};
}

/// Compares the scores of example `index` of a batch with its answers. If `gradient` is not null, writes to it *scale
/// times the gradient of the loss with respect to the scores, followed by zeros up to whole vectors. The scores of consecutive
/// positions are row_stride(outputs) floats apart.
ExampleLoss example_loss(const ExampleForm& form, const Answers& answers, int index, const float* scores, const float* scale,
                         float* gradient) {
  const auto row = static_cast<std::size_t>(index);
  switch (form.targets) {
    case Targets::classes:
      return class_loss(form, answers, row, scores, scale, gradient);
    case Targets::positions:
      return position_loss(form, answers, row, scores, scale, gradient);
    case Targets::values:
      return number_loss(form, answers, row, scores, scale, gradient, squared_error);
    case Targets::flags:
      break;
  }
  ExampleLoss total = number_loss(form, answers, row, scores, scale, gradient, logistic_loss);
  const auto count = static_cast<std::size_t>(form.outputs);
  for (std::size_t k = 0; k < count; ++k) total.correct += (scores[k] > 0) == (answers.values[row * count + k] > 0) ? 1 : 0;
  return total;
}

}  // namespace
Network::Workspace::Workspace(const Model& model_, int max_rows_, const std::vector<bool>& frozen)
    : model(model_), max_rows(max_rows_), work(row_work(model)), stages(plan_stages(model, frozen, max_rows, most_row_pieces())) {
  assert(max_rows >= 1 && (frozen.empty() || frozen.size() == model.layers().size()));
  while (row_stages < stages.size() && !stages[row_stages].dense && !stages[row_stages].mixes) ++row_stages;
  signals.resize(stages.size() + 1);
  add_value(0, model.input().size());
  for (std::size_t s = 0; s < stages.size(); ++s) add_value(s + 1, stages[s].output_stride);
  second_signals.resize(signals.size());
  for (const PlacedStage& placed : stages)
    for (const SignalPlace place : {placed.input, placed.added})
      if (place.again) {
        signal(place).value = signals[static_cast<std::size_t>(place.number)].value;
        signals[static_cast<std::size_t>(place.number)].beside = &signal(place);
      }
  for (const PlacedStage& placed : stages)
    if (placed.added.number >= 0) signal(placed.input).beside = &signal(placed.added);
}

void Network::Workspace::prepare_training() {
  if (!slots.empty()) return;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    first_slot.push_back(slots.size());
    if (stages[s].rows) stages[s].rows->prepare_training();
    if (stages[s].dense) {
      stages[s].dense->prepare_training();
      slots.resize(slots.size() + static_cast<std::size_t>(stages[s].dense->stretches()));
    }
    if (const auto* weights = stages[s].weights) {
      slots.resize(slots.size() + static_cast<std::size_t>(weights->stretches()));
      for (int piece = 0; piece < weights->gradient_pieces(); ++piece) gradient_pieces.emplace_back(s, piece);
    }
  }
}

// Each transient gradient gets the lowest offset that is free from the stage that writes it to the stage that reads it.
void Network::Workspace::plan_gradients() {
  if (has_planned_transient) return;
  has_planned_transient = true;
  for (std::size_t s = 0; s < stages.size(); ++s)
    for (const bool again : {false, true}) {
      const SignalPlace place{static_cast<int>(s + 1), again};
      Signal& made = signal(place);
      if ((!needs_backward(s) && s + 1 != stages.size()) || made.value.data == nullptr) continue;
      std::size_t written = s;  // the last stage to read the values writes their gradient
      for (std::size_t reader = s + 1; reader < stages.size(); ++reader)
        for (const SignalPlace read : {stages[reader].input, stages[reader].added})
          if (read.number == place.number && read.again == again) written = reader;
      const bool keeps = s + 1 == stages.size() || written >= row_stages ||
                         (stages[s].weights != nullptr && stages[s].weights->keeps_gradients());
      if (keeps) {
        memory.emplace_back(made.value.stride * max_rows);
        made.gradient = {memory.back().data(), made.value.stride};
        continue;
      }
      transient.push_back({.place = place, .stride = made.value.stride, .offset = 0, .written = written, .read = s});
    }
  std::ranges::sort(transient, std::greater{}, [](const TransientGradient& gradient) {
    return std::tuple(gradient.written, gradient.place.number, gradient.place.again);
  });
  for (TransientGradient* gradient = transient.data(); gradient != transient.data() + transient.size(); ++gradient) {
    const auto collides = [&](const TransientGradient& other) {
      return other.written >= gradient->read && gradient->written >= other.read &&
             other.offset < gradient->offset + gradient->stride && gradient->offset < other.offset + other.stride;
    };
    const std::span<const TransientGradient> before(transient.data(), gradient);
    for (auto other = std::ranges::find_if(before, collides); other != before.end();
         other = std::ranges::find_if(before, collides))
      gradient->offset = other->offset + other->stride;
    transient_size = std::max(transient_size, gradient->offset + gradient->stride);
  }
}

void Network::Workspace::for_each_stage_backward(RowRange range,
                                                 function_ref<void(std::size_t, const Signal&, const Signal&)> body) {
  constexpr std::size_t kSpare = 32;  // a row ends with fewer than two unwritten cache lines, some of which are read as zeros
  thread_local std::vector<Signal> first, second;  // kept, so later passes allocate nothing
  first = signals;
  second = second_signals;
  const auto here = [&](SignalPlace place) -> Signal& {
    const auto number = static_cast<std::size_t>(place.number);
    return place.again ? second[number] : first[number];
  };
  for (std::vector<Signal>* all : {&first, &second})
    for (Signal& one : *all) {
      if (one.beside == nullptr) continue;
      const bool is_first =
          !std::less<>{}(one.beside, signals.data()) && std::less<>{}(one.beside, signals.data() + signals.size());
      one.beside = is_first ? &first[static_cast<std::size_t>(one.beside - signals.data())]
                            : &second[static_cast<std::size_t>(one.beside - second_signals.data())];
    }
  const auto rows = static_cast<std::size_t>(range.last - range.first);
  float* const memory_here = thread_scratch<Scratch::gradients>(transient_size * rows);
  auto next = transient.begin();
  for (std::size_t s = row_stages; s-- > 0;) {
    if (!needs_backward(s)) continue;
    for (; next != transient.end() && next->written >= s; ++next) {
      float* const begin = memory_here + next->offset * rows;
      const std::size_t spare = std::min(kSpare, next->stride);
      for (std::size_t row = 1; row <= rows; ++row) std::fill_n(begin + row * next->stride - spare, spare, 0.0F);
      here(next->place).gradient = {begin - static_cast<std::size_t>(range.first) * next->stride, next->stride};
    }
    body(s, here(stages[s].input), first[s + 1]);
  }
}

void Network::Workspace::prepare_gradient() {
  prepare_training();
  for (const PlacedStage& placed : stages)
    if (placed.weights != nullptr) placed.weights->prepare_gradient();
  plan_gradients();
}

void Network::Workspace::prepare_per_example() {
  prepare_training();
  std::size_t most = 0;
  for_each_with_parameters([](auto& stage) { stage.prepare_per_example(); });
  for (const PlacedStage& placed : stages)
    if (placed.dense) most = std::max(most, placed.dense->scratch_size());
  if (scratch.size() < most) scratch = Buffer<float>(most);
  plan_gradients();
}

int Network::Workspace::row_pieces(int rows) const {
  const std::size_t least = (static_cast<std::size_t>(rows) + kMaxPieces - 1) / kMaxPieces;
  const std::size_t worth = work == 0 ? static_cast<std::size_t>(rows) : (kWorkPerPiece + work - 1) / work;
  const std::size_t per_piece = std::max(least, worth);
  return static_cast<int>((static_cast<std::size_t>(rows) + per_piece - 1) / per_piece);
}

int Network::Workspace::most_row_pieces() const {
  int most = 1;
  for (int rows = 1; rows <= max_rows; ++rows) most = std::max(most, row_pieces(rows));
  return most;
}

void Network::Workspace::begin(const float* weights) {
  for_each_with_parameters([&](auto& stage) { stage.begin(weights); });
}

void Network::Workspace::forward(int rows, const Batch* batch, ForEachPiece for_each_piece) {
  const auto forward_rows = [&](std::size_t s, RowRange range) {
    stages[s].rows->forward(input(s), signals[s + 1], range, batch);
  };
  if (row_stages > 0) {
    run_rows(rows, for_each_piece, [&](RowRange range) {
      for (std::size_t s = 0; s < row_stages; ++s) forward_rows(s, range);
    });
  }
  for (std::size_t s = row_stages; s < stages.size(); ++s) {
    if (auto& dense = stages[s].dense) {
      const int pieces = dense->forward_pieces(rows);
      run(pieces, for_each_piece, [&](int piece) { dense->forward_piece(piece, pieces, input(s), signals[s + 1], rows); });
    } else {
      forward_rows(s, {0, rows, 0});
    }
  }
}

void Network::Workspace::backward(int rows, GradientSink sink, ForEachPiece for_each_piece) {
  const auto backward_rows = [&](std::size_t s, RowRange range, const Signal& in, const Signal& out) {
    stages[s].rows->backward(in, out, range);
  };
  for (std::size_t s = stages.size(); s-- > row_stages;) {
    const Signal &in = input(s), &out = signals[s + 1];
    if (auto& dense = stages[s].dense) {
      const GradientTarget to = target(s, sink);
      dense->begin_backward(out, rows, to);
      const int pieces = dense->backward_pieces(rows);
      run(pieces, for_each_piece, [&](int piece) { dense->backward_piece(piece, pieces, in, out, rows, to); });
    } else if (needs_backward(s)) {
      backward_rows(s, {0, rows, 0}, in, out);
    }
  }
  if (row_stages > 0) {
    run_rows(rows, for_each_piece, [&](RowRange range) {
      for_each_stage_backward(range,
                              [&](std::size_t s, const Signal& in, const Signal& out) { backward_rows(s, range, in, out); });
    });
  }
  run_gradient_pieces(rows, for_each_piece, [&](RowStageWithParameters& stage, std::size_t s, int piece) {
    stage.gradient_piece(piece, input(s), rows, s < row_stages ? row_pieces(rows) : 1, target(s, sink));
  });
}

BatchLoss Network::Workspace::losses(int rows, const Answers& answers, const float* scale, std::span<Label> predicted) {
  BatchLoss total;
  for (int row = 0; row < rows; ++row) {
    float* gradient = scale == nullptr ? nullptr : signals.back().gradient[row];
    const ExampleLoss loss = example_loss(model.form(), answers, row, signals.back().value[row], scale, gradient);
    total.loss_sum += loss.loss;
    total.correct += loss.correct;
    total.counted += loss.counted;
    if (!predicted.empty()) predicted[static_cast<std::size_t>(row)] = loss.predicted;
  }
  return total;
}

double Network::Workspace::slot_sum() const {
  double sum = 0;
  for (const double value : slots) sum += value;
  return sum;
}

}  // namespace fedstride
