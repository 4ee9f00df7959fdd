#pragma once

#include <algorithm>
#include <cassert>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "nn/kernels/buffer.hpp"
#include "nn/network.hpp"
#include "nn/stage_plan.hpp"

namespace fedstride {

/// What the passes of a network share: the stages, the signals between them, how a batch is cut into pieces.
struct Network::Workspace {
  // How a batch is cut into pieces by rows: enough work in a piece to be worth a thread's while, few enough pieces.
  static constexpr std::size_t kWorkPerPiece = 12'000'000;  // multiply-adds, forwards
  static constexpr int kMaxPieces = 16;

  template <class Kind>
  static constexpr bool kHasWeights = std::is_same_v<Kind, ConvStage> || std::is_same_v<Kind, DenseStage>;

  Workspace(const Model& model_, int max_rows_, const std::vector<bool>& frozen);

  void add_value(std::size_t index, std::size_t stride) {
    memory.emplace_back(stride * max_rows);
    signals[index].value = {memory.back().data(), stride};
  }

  // Room for the way back, the first time it is taken: who only evaluates never needs it.
  void prepare_gradient();
  void prepare_per_example();
  void prepare_training();  ///< what both need

  int row_pieces(int rows) const;
  int most_row_pieces() const;

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

  /// Calls body(stage, block of channels) for every piece of the convolutions' weight gradients.
  template <class Body>
  void run_conv_pieces(int rows, ForEachPiece for_each_piece, Body&& body) {
    const bool worth_help = row_work * static_cast<std::size_t>(rows) > kWorkPerPiece;
    run(static_cast<int>(conv_pieces.size()), worth_help ? for_each_piece : ForEachPiece(serially), [&](int piece) {
      const auto [s, block] = conv_pieces[static_cast<std::size_t>(piece)];
      body(s, block);
    });
  }

  void begin(const float* weights);
  void forward_rows(std::size_t s, RowRange range, const Batch* batch);
  void forward(int rows, const Batch* batch, ForEachPiece for_each_piece);
  void backward_rows(std::size_t s, RowRange range);
  void backward(int rows, GradientSink sink, ForEachPiece for_each_piece);
  void backward_norms(int rows, double* squared_norms, ForEachPiece for_each_piece);
  double weighted_sum(std::span<const float> factors, GradientSink sink, ForEachPiece for_each_piece);

  /// Losses of the batch, added up in row order; with `scale`, the scores' gradients too.
  BatchLoss losses(std::span<const Label> labels, const float* scale, std::span<Label> predicted);

  GradientTarget target(std::size_t s, GradientSink sink) { return {sink, slots.data() + first_slot[s]}; }
  double slot_sum() const;

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
  // per_example and weighted_sum only
  std::size_t widest_dense = 0;  ///< row stride of the dense layer that has most outputs
  Buffer<float> scaled;          ///< its output gradients times the factors
  std::vector<int> scaled_examples;
  int per_example_rows = 0;  ///< of the last per_example batch
};

}  // namespace fedstride
