#pragma once

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "nn/kernels/buffer.hpp"
#include "nn/network.hpp"
#include "nn/stage_plan.hpp"

namespace fedstride {

/// The gradient of a signal between row stages, if nothing reads the gradient after an example's backward pass: it is stored in
/// the thread's scratch memory, which stays in the cache.
struct TransientGradient {
  SignalPlace place;
  std::size_t stride = 0;
  std::size_t offset = 0;   ///< floats per example before this gradient
  std::size_t written = 0;  ///< number of the stage that writes it
  std::size_t read = 0;     ///< number of the stage that reads it, which is not after the writer in the line
};

/// The data shared by the passes of a network: the stages, the signals between them, and how a batch is cut into pieces.
struct Network::Workspace {
  // Limits on cutting a batch by rows: enough work in a piece to be worth a thread's time, and few enough pieces.
  static constexpr std::size_t kWorkPerPiece = 12'000'000;  // multiply-adds of the forward pass
  static constexpr int kMaxPieces = 16;

  Workspace(const Model& model_, int max_rows_, const std::vector<bool>& frozen);

  void add_value(std::size_t index, std::size_t stride) {
    memory.emplace_back(stride * max_rows);
    signals[index].value = {memory.back().data(), stride};
  }

  // Memory for a backward pass, allocated at the first one, since evaluation never needs it.
  void prepare_gradient();
  void prepare_per_example();
  void prepare_training();  ///< memory for both kinds of backward pass
  void plan_gradients();    ///< assigns memory to the signals' gradients

  int row_pieces(int rows) const;
  int most_row_pieces() const;

  static void run(int pieces, ForEachPiece for_each_piece, auto&& body) {
    if (pieces == 1)
      body(0);
    else
      for_each_piece(pieces, body);
  }

  /// Calls body(range) for each piece of the rows.
  void run_rows(int rows, ForEachPiece for_each_piece, auto&& body) const {
    const int pieces = row_pieces(rows);
    run(pieces, for_each_piece, [&](int piece) { body(RowRange{rows * piece / pieces, rows * (piece + 1) / pieces, piece}); });
  }

  /// Calls body with every stage that has parameters, in order.
  void for_each_with_parameters(auto&& body) {
    for (PlacedStage& placed : stages) {
      if (placed.weights != nullptr) body(*placed.weights);
      if (placed.dense) body(*placed.dense);
    }
  }

  /// Calls body(stage, its number, its piece) for every gradient piece of the row stages.
  void run_gradient_pieces(int rows, ForEachPiece for_each_piece, auto&& body) {
    if (gradient_pieces.empty()) return;
    const bool worth_help = work * static_cast<std::size_t>(rows) > kWorkPerPiece;
    run(static_cast<int>(gradient_pieces.size()), worth_help ? for_each_piece : ForEachPiece(serially), [&](int index) {
      const auto& place = gradient_pieces[static_cast<std::size_t>(index)];
      body(*stages[place.first].weights, place.first, place.second);
    });
  }

  void begin(const float* weights);
  void forward(int rows, const Batch* batch, ForEachPiece for_each_piece);
  /// Calls body(stage, its input, its output) for the row stages of the backward pass, from last to first.
  void for_each_stage_backward(RowRange range, function_ref<void(std::size_t, const Signal&, const Signal&)> body);
  void backward(int rows, GradientSink sink, ForEachPiece for_each_piece);
  void backward_norms(int rows, double* squared_norms, ForEachPiece for_each_piece);
  double weighted_sum(std::span<const float> factors, SumSink sink, ForEachPiece for_each_piece);
  /// True if stage s or one before it trains.
  bool needs_backward(std::size_t s) const { return stages[s].trains || stages[s].data_gradient; }

  /// Returns the batch's losses, added in row order; if `scale` is not null, also computes the gradients with respect to the
  /// scores.
  BatchLoss losses(int rows, const Answers& answers, const float* scale, std::span<Label> predicted);

  template <class T>
  TargetOf<T> target(std::size_t s, function_ref<double(std::size_t, std::span<const T>)> sink) {
    return {sink, slots.data() + first_slot[s]};
  }
  double slot_sum() const;

  Signal& signal(SignalPlace place) {
    const auto number = static_cast<std::size_t>(place.number);
    return place.again ? second_signals[number] : signals[number];
  }
  const Signal& input(std::size_t s) { return signal(stages[s].input); }

  Model model;
  int max_rows;
  std::size_t work = 0;  ///< row_work of the model
  std::vector<PlacedStage> stages;
  std::size_t row_stages = 0;          ///< stages before the first dense one: a piece passes whole examples through all of them
  std::vector<Signal> signals;         ///< the input, then each stage's output
  std::vector<Signal> second_signals;  ///< for signals read twice, the second reader's signal
  std::vector<Buffer<float>> memory;
  std::vector<TransientGradient> transient;  ///< in the order in which they are written
  std::size_t transient_size = 0;            ///< floats per example of all of them; they share memory where possible
  std::vector<std::pair<std::size_t, int>> gradient_pieces;  ///< stage, piece
  std::vector<std::size_t> first_slot;                       ///< of each stage, in slots
  std::vector<double> slots;
  bool has_planned_transient = false;
  // only for per_example and weighted_sum
  Buffer<float> scratch;     ///< of the largest size that any dense stage requires
  int per_example_rows = 0;  ///< rows of the last per_example batch
};

}  // namespace fedstride
