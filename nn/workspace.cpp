#include "nn/workspace.hpp"

#include "nn/losses.hpp"

namespace fedstride {
Network::Workspace::Workspace(const Model& model_, int max_rows_, const std::vector<bool>& frozen)
    : model(model_), max_rows(max_rows_), work(row_work(model)), stages(plan_stages(model, frozen, max_rows, most_row_pieces())) {
  assert(max_rows >= 1 && (frozen.empty() || frozen.size() == model.layers().size()));
  const auto by_rows = [](const PlacedStage& placed) {
    return std::visit([]<class Kind>(const Kind&) { return RowStage<Kind>; }, placed.stage);
  };
  while (row_stages < stages.size() && by_rows(stages[row_stages])) ++row_stages;
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
    for (Signal* made : {&signals[s + 1], &second_signals[s + 1]})
      if ((goes_back(s) || s + 1 == stages.size()) && made->value.data != nullptr) {
        memory.emplace_back(made->value.stride * max_rows);
        made->gradient = {memory.back().data(), made->value.stride};
      }
    first_slot.push_back(slots.size());
    std::visit(
        [&]<class Kind>(Kind& stage) {
          stage.prepare_training();
          if constexpr (StageWithParameters<Kind>) slots.resize(slots.size() + static_cast<std::size_t>(stage.stretches()));
          if constexpr (RowStageWithParameters<Kind>)
            for (int piece = 0; piece < stage.gradient_pieces(); ++piece) gradient_pieces.emplace_back(s, piece);
        },
        stages[s].stage);
  }
}

void Network::Workspace::prepare_gradient() {
  prepare_training();
  for_each_with_parameters([](auto& stage) { stage.prepare_gradient(); });
}

void Network::Workspace::prepare_per_example() {
  prepare_training();
  std::size_t most = 0;
  for_each_with_parameters([&]<class Kind>(Kind& stage) {
    stage.prepare_per_example();
    if constexpr (BatchStage<Kind>) most = std::max(most, stage.scratch_size());
  });
  if (scratch.size() < most) scratch = Buffer<float>(most);
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

void Network::Workspace::forward_rows(std::size_t s, RowRange range, const Batch* batch) {
  with_stage(s, [&](RowStage auto& stage) { stage.forward(input(s), signals[s + 1], range, batch); });
}

void Network::Workspace::forward(int rows, const Batch* batch, ForEachPiece for_each_piece) {
  if (row_stages > 0) {
    run_rows(rows, for_each_piece, [&](RowRange range) {
      for (std::size_t s = 0; s < row_stages; ++s) forward_rows(s, range, batch);
    });
  }
  for (std::size_t s = row_stages; s < stages.size(); ++s) {
    with_stage(s, [&]<class Kind>(Kind& stage) {
      if constexpr (BatchStage<Kind>) {
        const int pieces = stage.forward_pieces(rows);
        run(pieces, for_each_piece, [&](int piece) { stage.forward_piece(piece, pieces, input(s), signals[s + 1], rows); });
      } else {
        stage.forward(input(s), signals[s + 1], {0, rows, 0}, batch);
      }
    });
  }
}

void Network::Workspace::backward_rows(std::size_t s, RowRange range) {
  if (goes_back(s)) with_stage(s, [&](RowStage auto& stage) { stage.backward(input(s), signals[s + 1], range); });
}

void Network::Workspace::backward(int rows, GradientSink sink, ForEachPiece for_each_piece) {
  for (std::size_t s = stages.size(); s-- > row_stages;) {
    with_stage(s, [&]<class Kind>(Kind& stage) {
      if constexpr (BatchStage<Kind>) {
        const Signal &in = input(s), &out = signals[s + 1];
        const GradientTarget to = target(s, sink);
        stage.begin_backward(out, rows, to);
        const int pieces = stage.backward_pieces(rows);
        run(pieces, for_each_piece, [&](int piece) { stage.backward_piece(piece, pieces, in, out, rows, to); });
      } else {
        backward_rows(s, {0, rows, 0});
      }
    });
  }
  if (row_stages > 0) {
    run_rows(rows, for_each_piece, [&](RowRange range) {
      for (std::size_t s = row_stages; s-- > 0;) backward_rows(s, range);
    });
  }
  run_gradient_pieces(rows, for_each_piece, [&](auto& stage, std::size_t s, int piece) {
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
