#include "nn/network.hpp"

#include <algorithm>
#include <cassert>
#include <utility>
#include <variant>

#include "nn/kernels/softmax.hpp"
#include "nn/stage_plan.hpp"

namespace fedstride {
namespace {

// How a batch is cut into pieces by rows: enough work in a piece to be worth a thread's while, few enough pieces.
constexpr std::size_t kWorkPerPiece = 12'000'000;  // multiply-adds, forwards
constexpr int kMaxPieces = 16;

template <class Kind>
inline constexpr bool kHasWeights = std::is_same_v<Kind, ConvStage> || std::is_same_v<Kind, DenseStage>;

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

struct Network::Workspace {
  Workspace(const Model& model_, int max_rows_, std::vector<bool> frozen)
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

  void add_value(std::size_t index, std::size_t stride) {
    memory.emplace_back(stride * max_rows);
    signals[index].value = {memory.back().data(), stride};
  }

  /// Room for the way back, the first time it is taken: who only evaluates never needs it.
  void prepare_training() {
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
          },
          stages[s].stage);
    }
  }

  int row_pieces(int rows) const {
    const std::size_t least = (static_cast<std::size_t>(rows) + kMaxPieces - 1) / kMaxPieces;
    const std::size_t worth =
        row_work == 0 ? static_cast<std::size_t>(rows) : (kWorkPerPiece + row_work - 1) / row_work;
    const std::size_t per_piece = std::max(least, worth);
    return static_cast<int>((static_cast<std::size_t>(rows) + per_piece - 1) / per_piece);
  }

  int most_row_pieces() const {
    int most = 1;
    for (int rows = 1; rows <= max_rows; ++rows) most = std::max(most, row_pieces(rows));
    return most;
  }

  template <class Body>
  static void run(int pieces, ForEachPiece for_each_piece, Body&& body) {
    if (pieces == 1)
      body(0);
    else
      for_each_piece(pieces, body);
  }

  /// Calls body(range) for each piece of the rows.
  template <class Body>
  void run_rows(int rows, ForEachPiece for_each_piece, Body&& body) const {
    const int pieces = row_pieces(rows);
    run(pieces, for_each_piece, [&](int piece) {
      body(RowRange{rows * piece / pieces, rows * (piece + 1) / pieces, piece});
    });
  }

  void forward_rows(std::size_t s, RowRange range, const Batch* batch) {
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

  void backward_rows(std::size_t s, RowRange range) {
    const PlacedStage& placed = stages[s];
    if (!placed.trains && !placed.data_gradient) return;
    std::visit(
        [&](auto& stage) {
          if constexpr (requires { stage.backward(signals[s], signals[s + 1], range); })
            stage.backward(signals[s], signals[s + 1], range);
        },
        stages[s].stage);
  }

  void begin(const float* weights) {
    for (auto& placed : stages)
      std::visit(
          [&](auto& stage) {
            if constexpr (requires { stage.begin(weights); }) stage.begin(weights);
          },
          placed.stage);
  }

  void forward(int rows, const Batch* batch, ForEachPiece for_each_piece) {
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

  void backward(int rows, GradientSink sink, ForEachPiece for_each_piece) {
    for (std::size_t s = stages.size(); s-- > row_stages;) {
      if (auto* dense = std::get_if<DenseStage>(&stages[s].stage)) {
        const GradientTarget target{sink, slots.data() + first_slot[s]};
        dense->begin_backward(signals[s + 1], rows, target);
        const int pieces = dense->backward_pieces(rows);
        run(pieces, for_each_piece,
            [&](int piece) { dense->backward_piece(piece, pieces, signals[s], signals[s + 1], rows, target); });
      } else {
        backward_rows(s, {0, rows, 0});
      }
    }
    if (row_stages == 0) return;
    run_rows(rows, for_each_piece, [&](RowRange range) {
      for (std::size_t s = row_stages; s-- > 0;) backward_rows(s, range);
    });
    const bool worth_help = row_work * static_cast<std::size_t>(rows) > kWorkPerPiece;
    run(static_cast<int>(conv_pieces.size()), worth_help ? for_each_piece : ForEachPiece(serially), [&](int piece) {
      const auto [s, block] = conv_pieces[static_cast<std::size_t>(piece)];
      std::get<ConvStage>(stages[s].stage)
          .gradient_piece(block, signals[s], rows, row_pieces(rows), {sink, slots.data() + first_slot[s]});
    });
  }

  /// Losses of the batch, added up in row order; with `scale`, the scores' gradients too.
  BatchLoss losses(std::span<const Label> labels, const float* scale, std::span<Label> predicted) {
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

  Model model;
  int max_rows;
  std::size_t row_work = 0;
  std::vector<PlacedStage> stages;
  std::size_t row_stages = 0;   ///< those before the first dense layer: whole examples, one piece from bottom to top
  std::vector<Signal> signals;  ///< signals[s] is what stage s reads
  std::vector<Buffer<float>> memory;
  std::vector<std::pair<std::size_t, int>> conv_pieces;  ///< stage, block of channels
  std::vector<std::size_t> first_slot;                   ///< of each stage, in slots
  std::vector<double> slots;
};

Network::Network(const Model& model, int max_rows, std::vector<bool> frozen)
    : workspace_(std::make_unique<Workspace>(model, max_rows, std::move(frozen))) {}
Network::~Network() = default;
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;

const Model& Network::model() const { return workspace_->model; }
int Network::max_rows() const { return workspace_->max_rows; }

std::span<float> Network::inputs(int rows) {
  assert(rows >= 1 && rows <= max_rows());
  return {workspace_->signals[0].value.data, static_cast<std::size_t>(rows) * workspace_->model.input().size()};
}

BatchLoss Network::gradient(const float* weights, const Batch& batch, GradientSink sink, ForEachPiece for_each_piece) {
  const int rows = static_cast<int>(batch.labels.size());
  assert(rows >= 1 && rows <= max_rows());
  workspace_->prepare_training();
  workspace_->begin(weights);
  workspace_->forward(rows, &batch, for_each_piece);
  const float scale = 1.0F / static_cast<float>(rows);
  BatchLoss loss = workspace_->losses(batch.labels, &scale, {});
  workspace_->backward(rows, sink, for_each_piece);
  for (const double value : workspace_->slots) loss.sink_sum += value;
  return loss;
}

BatchLoss Network::evaluate(const float* weights, std::span<const Label> labels, std::span<Label> predicted,
                            ForEachPiece for_each_piece) {
  const int rows = static_cast<int>(labels.size());
  assert(rows >= 1 && rows <= max_rows());
  workspace_->begin(weights);
  workspace_->forward(rows, nullptr, for_each_piece);
  return workspace_->losses(labels, nullptr, predicted);
}

}  // namespace fedstride
