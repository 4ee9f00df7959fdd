#include <algorithm>
#include <cassert>
#include <cmath>

#include "nn/workspace.hpp"

namespace fedstride {
namespace {

// Norms are computed in double from the example's own gradient in single precision. Scaling an output's gradient and multiplying
// it by an input each cause a relative rounding error of at most 2^-24, far below kNormMargin.
constexpr double kRoundingMargin = 2e-5;
static_assert(kRoundingMargin < Network::kNormMargin);

}  // namespace

void Network::Workspace::backward_norms(int rows, double* squared_norms, ForEachPiece for_each_piece) {
  const auto norms_of_rows = [&](std::size_t s, RowRange range, const Signal& in, const Signal& out) {
    if (stages[s].weights != nullptr)
      stages[s].weights->backward_norms(in, out, range, squared_norms);
    else
      stages[s].rows->backward(in, out, range);
  };
  for (std::size_t s = stages.size(); s-- > row_stages;) {
    if (!needs_backward(s)) continue;
    const Signal &in = input(s), &out = signals[s + 1];
    if (auto& dense = stages[s].dense) {
      dense->begin_norms(in, out, rows, squared_norms);
      if (!stages[s].data_gradient) continue;
      const int pieces = dense->backward_pieces(rows);
      run(pieces, for_each_piece, [&](int piece) { dense->data_piece(piece, pieces, in, out, rows); });
    } else {
      norms_of_rows(s, {0, rows, 0}, in, out);
    }
  }
  if (row_stages == 0) return;
  run_rows(rows, for_each_piece, [&](RowRange range) {
    for_each_stage_backward(range, [&](std::size_t s, const Signal& in, const Signal& out) { norms_of_rows(s, range, in, out); });
  });
}

double Network::Workspace::weighted_sum(std::span<const float> factors, SumSink sink, ForEachPiece for_each_piece) {
  const int rows = static_cast<int>(factors.size());
  for (std::size_t s = stages.size(); s-- > row_stages;) {
    auto& dense = stages[s].dense;
    if (!dense) continue;
    const SumTarget to = target(s, sink);
    dense->begin_weighted(signals[s + 1], factors, scratch.data(), to);
    const int pieces = dense->backward_pieces(rows);
    run(pieces, for_each_piece, [&](int piece) { dense->weighted_piece(piece, pieces, input(s), to); });
  }
  run_gradient_pieces(rows, for_each_piece, [&](RowStageWithParameters& stage, std::size_t s, int piece) {
    stage.weighted_piece(piece, input(s), factors, target(s, sink));
  });
  return slot_sum();
}

BatchLoss Network::per_example(const float* weights, const Batch& batch, std::span<double> norms, ForEachPiece for_each_piece) {
  const int rows = static_cast<int>(batch.rows.size());
  assert(rows >= 1 && rows <= max_rows() && norms.size() == batch.rows.size());
  workspace_->prepare_per_example();
  workspace_->begin(weights);
  workspace_->forward(rows, &batch, for_each_piece);
  const float scale = 1;
  const BatchLoss loss = workspace_->losses(rows, batch.answers(), &scale, {});
  std::ranges::fill(norms, 0.0);
  workspace_->backward_norms(rows, norms.data(), for_each_piece);
  for (double& norm : norms) norm = std::sqrt(norm) * (1 + kRoundingMargin);
  workspace_->per_example_rows = rows;
  return loss;
}

double Network::weighted_sum(std::span<const float> factors, SumSink sink, ForEachPiece for_each_piece) {
  assert(static_cast<int>(factors.size()) == workspace_->per_example_rows);
  return workspace_->weighted_sum(factors, sink, for_each_piece);
}

}  // namespace fedstride
