#include "nn/workspace.hpp"

#include "nn/kernels/softmax.hpp"

namespace fedstride {
namespace {

/// Multiply-adds of an example's convolutions, forwards.
std::size_t convolution_work(const Model& model) {
  std::size_t work = 0;
  for (const Parameter& parameter : model.parameters()) {
    const auto layer = static_cast<std::size_t>(parameter.layer);
    const Shape output = model.shapes()[layer + 1];
    if (parameter.shape.size() > 1 && std::holds_alternative<Conv>(model.layers()[layer]))
      work += parameter.size * static_cast<std::size_t>(output.height) * output.width;
  }
  return work;
}

}  // namespace

Network::Workspace::Workspace(const Model& model_, int max_rows_, const std::vector<bool>& frozen)
    : model(model_),
      max_rows(max_rows_),
      row_work(convolution_work(model)),
      stages(plan_stages(model, frozen, max_rows, most_row_pieces())) {
  assert(max_rows >= 1 && (frozen.empty() || frozen.size() == model.layers().size()));
  while (row_stages < stages.size() && !std::holds_alternative<DenseStage>(stages[row_stages].stage)) ++row_stages;
  signals.resize(stages.size() + 1);
  add_value(0, model.input().size());
  for (std::size_t s = 0; s < stages.size(); ++s) add_value(s + 1, row_stride(stages[s].output_size));
}

void Network::Workspace::prepare_training() {
  if (!slots.empty()) return;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (s + 1 == stages.size() || stages[s + 1].data_gradient) {
      memory.emplace_back(signals[s + 1].value.stride * max_rows);
      signals[s + 1].gradient = {memory.back().data(), signals[s + 1].value.stride};
    }
    first_slot.push_back(slots.size());
    std::visit(
        [&]<class Kind>(Kind& stage) {
          if constexpr (requires { stage.prepare_training(); }) stage.prepare_training();
          if constexpr (kHasWeights<Kind>) slots.resize(slots.size() + static_cast<std::size_t>(stage.stretches()));
          if constexpr (std::is_same_v<Kind, ConvStage>)
            for (int piece = 0; piece < stage.gradient_pieces(); ++piece) conv_pieces.emplace_back(s, piece);
          if constexpr (std::is_same_v<Kind, DenseStage>)
            if (stage.trains())
              widest_dense = std::max(widest_dense, row_stride(static_cast<std::size_t>(stage.outputs())));
        },
        stages[s].stage);
  }
}

void Network::Workspace::prepare_gradient() {
  prepare_training();
  for (PlacedStage& placed : stages)
    if (auto* conv = std::get_if<ConvStage>(&placed.stage)) conv->prepare_gradient();
}

void Network::Workspace::prepare_per_example() {
  prepare_training();
  for (PlacedStage& placed : stages)
    if (auto* conv = std::get_if<ConvStage>(&placed.stage)) conv->prepare_per_example();
  if (scaled.size() < max_rows * widest_dense) scaled = Buffer<float>(max_rows * widest_dense);
  scaled_examples.resize(static_cast<std::size_t>(max_rows));
}

int Network::Workspace::row_pieces(int rows) const {
  const std::size_t least = (static_cast<std::size_t>(rows) + kMaxPieces - 1) / kMaxPieces;
  const std::size_t worth =
      row_work == 0 ? static_cast<std::size_t>(rows) : (kWorkPerPiece + row_work - 1) / row_work;
  const std::size_t per_piece = std::max(least, worth);
  return static_cast<int>((static_cast<std::size_t>(rows) + per_piece - 1) / per_piece);
}

int Network::Workspace::most_row_pieces() const {
  int most = 1;
  for (int rows = 1; rows <= max_rows; ++rows) most = std::max(most, row_pieces(rows));
  return most;
}

void Network::Workspace::begin(const float* weights) {
  for (auto& placed : stages)
    std::visit(
        [&](auto& stage) {
          if constexpr (requires { stage.begin(weights); }) stage.begin(weights);
        },
        placed.stage);
}

void Network::Workspace::forward_rows(std::size_t s, RowRange range, const Batch* batch) {
  const Signal &in = signals[s], &out = signals[s + 1];
  std::visit(
      [&]<class Kind>(Kind& stage) {
        if constexpr (requires { stage.forward(in, out, range, batch); }) {
          if constexpr (std::is_same_v<Kind, DropoutStage>)
            stage.forward(in, out, range, batch);
          else
            stage.forward(in, out, range, batch != nullptr);
        } else if constexpr (requires { stage.forward(in, out, range); }) {
          stage.forward(in, out, range);
        }
      },
      stages[s].stage);
}

void Network::Workspace::forward(int rows, const Batch* batch, ForEachPiece for_each_piece) {
  if (row_stages > 0) {
    run_rows(rows, for_each_piece, [&](RowRange range) {
      for (std::size_t s = 0; s < row_stages; ++s) forward_rows(s, range, batch);
    });
  }
  for (std::size_t s = row_stages; s < stages.size(); ++s) {
    if (auto* dense = std::get_if<DenseStage>(&stages[s].stage)) {
      const int pieces = dense->forward_pieces(rows);
      run(pieces, for_each_piece,
          [&](int piece) { dense->forward_piece(piece, pieces, signals[s], signals[s + 1], rows); });
    } else {
      forward_rows(s, {0, rows, 0}, batch);
    }
  }
}

void Network::Workspace::backward_rows(std::size_t s, RowRange range) {
  PlacedStage& placed = stages[s];
  if (!placed.trains && !placed.data_gradient) return;
  std::visit(
      [&](auto& stage) {
        if constexpr (requires { stage.backward(signals[s], signals[s + 1], range); })
          stage.backward(signals[s], signals[s + 1], range);
      },
      placed.stage);
}

void Network::Workspace::backward(int rows, GradientSink sink, ForEachPiece for_each_piece) {
  for (std::size_t s = stages.size(); s-- > row_stages;) {
    const Signal &in = signals[s], &out = signals[s + 1];
    if (auto* dense = std::get_if<DenseStage>(&stages[s].stage)) {
      dense->begin_backward(out, rows);
      const OutputGradients gradients{out.gradient, rows};
      const GradientTarget to = target(s, sink);
      dense->report_bias(gradients, to);
      const int pieces = dense->backward_pieces(rows);
      run(pieces, for_each_piece, [&](int piece) {
        if (DenseStage::fuses(rows)) {
          dense->fused_piece(piece, pieces, in, out, rows, to);
        } else {
          if (stages[s].data_gradient) dense->data_piece(piece, pieces, in, out, rows);
          dense->weight_piece(piece, pieces, in, gradients, to);
        }
      });
    } else {
      backward_rows(s, {0, rows, 0});
    }
  }
  if (row_stages == 0) return;
  run_rows(rows, for_each_piece, [&](RowRange range) {
    for (std::size_t s = row_stages; s-- > 0;) backward_rows(s, range);
  });
  run_conv_pieces(rows, for_each_piece, [&](std::size_t s, int block) {
    std::get<ConvStage>(stages[s].stage).gradient_piece(block, signals[s], rows, row_pieces(rows), target(s, sink));
  });
}

BatchLoss Network::Workspace::losses(std::span<const Label> labels, const float* scale, std::span<Label> predicted) {
  BatchLoss total;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const int row = static_cast<int>(r);
    const RowLoss loss =
        softmax_row(signals.back().value[row], model.classes(), static_cast<int>(labels[r]),
                    scale == nullptr ? 0.0F : *scale, scale == nullptr ? nullptr : signals.back().gradient[row]);
    total.loss_sum += loss.loss;
    total.correct += loss.predicted == static_cast<int>(labels[r]) ? 1 : 0;
    if (!predicted.empty()) predicted[r] = static_cast<Label>(loss.predicted);
  }
  return total;
}

double Network::Workspace::slot_sum() const {
  double sum = 0;
  for (const double value : slots) sum += value;
  return sum;
}

}  // namespace fedstride
