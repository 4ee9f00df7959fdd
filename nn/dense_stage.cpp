#include "nn/dense_stage.hpp"

#include <algorithm>

#include "core/simd.hpp"
#include "nn/kernels/squares.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kWorkPerPiece = 1'000'000;  // multiply-adds: some ten microseconds
constexpr int kMaxPieces = 16;
constexpr int kOutputsPerBlock = 2 * kLanes;

int pieces_for(std::size_t work, int most) {
  return static_cast<int>(std::clamp<std::size_t>(work / kWorkPerPiece, 1, static_cast<std::size_t>(std::min(most, kMaxPieces))));
}

}  // namespace

DenseStage::Options DenseStage::options_of(LayerCursor& layers) {
  Options options{
      .inputs = static_cast<int>(layers.input().size()), .tensors = layers.tensors(), .data_gradient = layers.data_gradient()};
  options.outputs = layers.take<Dense>().units;
  options.relu = layers.take_if<Relu>();
  return options;
}

DenseStage::DenseStage(LayerCursor& layers) : options_(options_of(layers)), max_rows_(layers.max_rows()) {
  // Whole groups of the inputs a weight tile takes.
  const int fit = static_cast<int>(kStretch) / options_.outputs;
  inputs_per_stretch_ = std::min(fit >= 4 ? fit / 4 * 4 : std::max(fit, 1), options_.inputs);
  weight_stretches_ = (options_.inputs + inputs_per_stretch_ - 1) / inputs_per_stretch_;
}

int DenseStage::forward_pieces(int rows) const {
  return pieces_for(work(rows), (options_.outputs + kOutputsPerBlock - 1) / kOutputsPerBlock);
}

int DenseStage::backward_pieces(int rows) const { return pieces_for(2 * work(rows), weight_stretches_); }

void DenseStage::prepare_training() {
  bias_gradient_ = Buffer<float>(whole_lanes(static_cast<std::size_t>(options_.outputs)));
  weight_gradient_ =
      Buffer<float>(row_stride(static_cast<std::size_t>(inputs_per_stretch_) * options_.outputs) * backward_pieces(max_rows_));
}

void DenseStage::forward_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows) {
  const int blocks = (options_.outputs + kOutputsPerBlock - 1) / kOutputsPerBlock;
  const int first = blocks * piece / pieces * kOutputsPerBlock;
  const int last = std::min(blocks * (piece + 1) / pieces * kOutputsPerBlock, options_.outputs);
  const LayerTensors& tensors = options_.tensors;
  dense_forward(in.value, rows, options_.inputs, weights_ + tensors.weight.offset, options_.outputs,
                tensors.bias.size > 0 ? weights_ + tensors.bias.offset : nullptr, options_.relu, out.value, first, last);
}

void DenseStage::mask(const Signal& out, int rows) const {
  if (options_.relu && out.gradient.data != nullptr)
    relu_mask(out.value, out.gradient, rows, static_cast<std::size_t>(options_.outputs));
}

void DenseStage::begin_backward(const Signal& out, int rows, const GradientTarget& target) {
  mask(out, rows);
  report_bias({out.gradient, rows}, target);
}

void DenseStage::backward_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows,
                                const GradientTarget& target) {
  if (rows <= kFusedRows) return fused_piece(piece, pieces, in, out, rows, target);
  if (options_.data_gradient) data_piece(piece, pieces, in, out, rows);
  weight_piece(piece, pieces, in, {out.gradient, rows}, target);
}

std::size_t DenseStage::scratch_size() const {
  return trains() ? max_rows_ * row_stride(static_cast<std::size_t>(options_.outputs)) : 0;
}

void DenseStage::begin_weighted(const Signal& out, std::span<const float> factors, float* scratch, const GradientTarget& target) {
  if (trains()) {
    const Rows rows{scratch, row_stride(static_cast<std::size_t>(options_.outputs))};
    scaled_ = scaled_gradients(out.gradient, static_cast<int>(factors.size()), options_.outputs, factors.data(), rows,
                               scaled_examples_.data());
  }
  report_bias(scaled_, target);
}

void DenseStage::begin_norms(const Signal& in, const Signal& out, int rows, double* squared_norms) const {
  mask(out, rows);
  if (!trains()) return;
  const double bias = options_.tensors.bias.size > 0 ? 1 : 0;
  for (int r = 0; r < rows; ++r)
    squared_norms[r] += (squared_norm(in.value[r], static_cast<std::size_t>(options_.inputs)) + bias) *
                        squared_norm(out.gradient[r], static_cast<std::size_t>(options_.outputs));
}

void DenseStage::data_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows) const {
  dense_data_gradient(out.gradient, rows, weights_ + options_.tensors.weight.offset, options_.outputs, in.gradient,
                      first_input(first_stretch(piece, pieces)), first_input(first_stretch(piece + 1, pieces)));
}

void DenseStage::report_bias(const OutputGradients& gradients, const GradientTarget& target) {
  const LayerTensors& tensors = options_.tensors;
  if (tensors.bias.size == 0) return;
  if (!tensors.frozen) column_sums(gradients, options_.outputs, bias_gradient_.data());
  target.report(weight_stretches_, tensors.bias.offset, bias_gradient_.data(), tensors.bias.size);
}

template <class Body>
void DenseStage::for_each_stretch(int piece, int pieces, const GradientTarget& target, Body&& body) {
  const auto outputs = static_cast<std::size_t>(options_.outputs);
  float* gradient = weight_gradient_.data() + piece * row_stride(inputs_per_stretch_ * outputs);
  for (int slot = first_stretch(piece, pieces); slot < first_stretch(piece + 1, pieces); ++slot) {
    const int first = first_input(slot);
    const int last = first_input(slot + 1);
    body(gradient, first, last);
    target.report(slot, options_.tensors.weight.offset + first * outputs, gradient, (last - first) * outputs);
  }
}

void DenseStage::weight_piece(int piece, int pieces, const Signal& in, const OutputGradients& gradients,
                              const GradientTarget& target) {
  for_each_stretch(piece, pieces, target, [&](float* gradient, int first, int last) {
    if (!options_.tensors.frozen) dense_weight_gradient(in.value, gradients, options_.outputs, first, last, gradient);
  });
}

void DenseStage::fused_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows, const GradientTarget& target) {
  const float* weights = weights_ + options_.tensors.weight.offset;
  const int outputs = options_.outputs;
  for_each_stretch(piece, pieces, target, [&](float* gradient, int first, int last) {
    if (options_.data_gradient && !options_.tensors.frozen)
      dense_both_gradients(in.value, out.gradient, rows, weights, outputs, in.gradient, first, last, gradient);
    else if (options_.data_gradient)
      dense_data_gradient(out.gradient, rows, weights, outputs, in.gradient, first, last);
    else if (!options_.tensors.frozen)
      dense_weight_gradient(in.value, {out.gradient, rows}, outputs, first, last, gradient);
  });
}

}  // namespace fedstride
