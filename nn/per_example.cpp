#include <algorithm>
#include <cassert>
#include <cmath>

#include "nn/workspace.hpp"

namespace fedstride {
namespace {

// Norms are taken in double of what an example's gradient is on its own in single precision. Scaling an output's
// gradient and multiplying it by an input rounds relatively by 2^-24 each, far below this; where the order of a float
// sum differs, by about as much times the sum's condition.
constexpr double kRoundingMargin = 2e-5;
static_assert(kRoundingMargin < Network::kNormMargin);

}  // namespace

void Network::Workspace::backward_norms(int rows, double* squared_norms, ForEachPiece for_each_piece) {
  for (std::size_t s = stages.size(); s-- > row_stages;) {
    const Signal &in = signals[s], &out = signals[s + 1];
    if (const auto* dense = std::get_if<DenseStage>(&stages[s].stage)) {
      if (!dense->trains() && !stages[s].data_gradient) return;
      dense->begin_backward(out, rows);
      if (dense->trains()) dense->add_norms(in, out, rows, squared_norms);
      if (!stages[s].data_gradient) continue;
      const int pieces = dense->backward_pieces(rows);
      run(pieces, for_each_piece, [&](int piece) { dense->data_piece(piece, pieces, in, out, rows); });
    } else {
      backward_rows(s, {0, rows, 0});
    }
  }
  if (row_stages == 0) return;
  run_rows(rows, for_each_piece, [&](RowRange range) {
    for (std::size_t s = row_stages; s-- > 0;) {
      if (!stages[s].trains && !stages[s].data_gradient) return;
      if (auto* conv = std::get_if<ConvStage>(&stages[s].stage))
        conv->backward_norms(signals[s], signals[s + 1], range, squared_norms);
      else
        backward_rows(s, range);
    }
  });
}

double Network::Workspace::weighted_sum(std::span<const float> factors, GradientSink sink,
                                        ForEachPiece for_each_piece) {
  const int rows = static_cast<int>(factors.size());
  for (std::size_t s = stages.size(); s-- > row_stages;) {
    auto* dense = std::get_if<DenseStage>(&stages[s].stage);
    if (dense == nullptr) continue;
    OutputGradients gradients;
    if (dense->trains()) {
      const auto outputs = static_cast<std::size_t>(dense->outputs());
      gradients = scaled_gradients(signals[s + 1].gradient, rows, dense->outputs(), factors.data(),
                                   {scaled.data(), row_stride(outputs)}, scaled_examples.data());
    }
    const GradientTarget to = target(s, sink);
    dense->report_bias(gradients, to);
    const int pieces = dense->backward_pieces(rows);
    run(pieces, for_each_piece, [&](int piece) { dense->weight_piece(piece, pieces, signals[s], gradients, to); });
  }
  run_conv_pieces(rows, for_each_piece, [&](std::size_t s, int block) {
    std::get<ConvStage>(stages[s].stage).weighted_piece(block, signals[s], factors, target(s, sink));
  });
  return slot_sum();
}

BatchLoss Network::per_example(const float* weights, const Batch& batch, std::span<double> norms,
                               ForEachPiece for_each_piece) {
  const int rows = static_cast<int>(batch.labels.size());
  assert(rows >= 1 && rows <= max_rows() && norms.size() == batch.labels.size());
  workspace_->prepare_per_example();
  workspace_->begin(weights);
  workspace_->forward(rows, &batch, for_each_piece);
  const float scale = 1;
  const BatchLoss loss = workspace_->losses(batch.labels, &scale, {});
  std::ranges::fill(norms, 0.0);
  workspace_->backward_norms(rows, norms.data(), for_each_piece);
  for (double& norm : norms) norm = std::sqrt(norm) * (1 + kRoundingMargin);
  workspace_->per_example_rows = rows;
  return loss;
}

double Network::weighted_sum(std::span<const float> factors, GradientSink sink, ForEachPiece for_each_piece) {
  assert(static_cast<int>(factors.size()) == workspace_->per_example_rows);
  return workspace_->weighted_sum(factors, sink, for_each_piece);
}

}  // namespace fedstride
