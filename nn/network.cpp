#include "nn/network.hpp"

#include <algorithm>
#include <cassert>

#include "core/error.hpp"
#include "nn/workspace.hpp"

namespace fedstride {
namespace {

const Model& with_layers(const Model& model) {
  if (!model.has_layers())
    throw usage_error(
        "the model consists of tensors only and has no layers; training and evaluation need your own code (docs/python.md)");
  return model;
}

}  // namespace

Network::Network(const Model& model, int max_rows, const std::vector<bool>& frozen)
    : workspace_(std::make_unique<Workspace>(with_layers(model), max_rows, frozen)) {}
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
  const int rows = static_cast<int>(batch.rows.size());
  assert(rows >= 1 && rows <= max_rows());
  workspace_->prepare_gradient();
  workspace_->begin(weights);
  workspace_->forward(rows, &batch, for_each_piece);
  const float scale = 1.0F / static_cast<float>(rows);
  BatchLoss loss = workspace_->losses(rows, batch.answers(), &scale, {});
  workspace_->backward(rows, sink, for_each_piece);
  loss.sink_sum = workspace_->slot_sum();
  return loss;
}

void Network::add_batches(float* weights) {
  for (const PlacedStage& placed : workspace_->stages)
    if (placed.weights != nullptr) placed.weights->add_batches(weights);
}

void Network::forget_batches() {
  for (const PlacedStage& placed : workspace_->stages)
    if (placed.weights != nullptr) placed.weights->forget_batches();
}

BatchLoss Network::evaluate(const float* weights, const Answers& answers, std::span<Label> predicted, ForEachPiece for_each_piece,
                            std::span<float> scores) {
  const int rows = static_cast<int>(std::max(answers.labels.size(), answers.values.size()) / model().form().answers());
  assert(rows >= 1 && rows <= max_rows());
  workspace_->begin(weights);
  workspace_->forward(rows, nullptr, for_each_piece);
  for (std::size_t row = 0, each = scores.size() / static_cast<std::size_t>(rows); row * each < scores.size(); ++row)
    std::copy_n(workspace_->signals.back().value[static_cast<int>(row)], each, scores.data() + row * each);
  return workspace_->losses(rows, answers, nullptr, predicted);
}

}  // namespace fedstride
