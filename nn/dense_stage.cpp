#include "nn/dense_stage.hpp"

#include <algorithm>

#include "core/simd.hpp"
#include "nn/kernels/squares.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kWorkPerPiece = 1'000'000;  // multiply-adds: about ten microseconds
constexpr int kMaxPieces = 16;
constexpr int kOutputsPerBlock = 2 * kLanes;

int pieces_for(std::size_t work, int most) {
  return static_cast<int>(std::clamp<std::size_t>(work / kWorkPerPiece, 1, static_cast<std::size_t>(std::min(most, kMaxPieces))));
}

}  // namespace

DenseStage::Options DenseStage::Options::first_product(const LayerCursor& layers, int inputs, int outputs) {
  const LayerTensors tensors = layers.tensors();
  return {.inputs = inputs,
          .outputs = outputs,
          .positions = layers.positions(),
          .weight = tensors.weight,
          .bias = tensors.bias,
          .frozen = tensors.frozen,
          .data_gradient = layers.data_gradient()};
}

DenseStage::Options DenseStage::Options::second_product(const LayerCursor& layers, int inputs, int outputs) {
  Options options = first_product(layers, inputs, outputs);
  const LayerTensors tensors = layers.tensors();
  options.weight = tensors.second_weight;
  options.bias = tensors.second_bias;
  return options;
}

DenseStage::Options DenseStage::options_of(LayerCursor& layers) {
  Options options = Options::first_product(layers, static_cast<int>(layers.input().size()) / layers.positions(), 1);
  options.outputs = layers.take<Dense>().units;
  options.relu = layers.take_if<Relu>();
  return options;
}

DenseStage::DenseStage(LayerCursor& layers) : DenseStage(options_of(layers), layers.max_rows()) {}

DenseStage::DenseStage(const Options& options, int max_rows) : options_(options), max_rows_(max_rows) {
  // A stretch consists of whole groups of inputs, each as many as a weight tile has; with more than 512 outputs, it is one group,
  // although that exceeds kStretch floats. (Single inputs would read the output gradients four times as often: an LSTM of 256
  // units took 1.4 times as long.)
  constexpr int kInputsOfTile = 4;
  const int fit = static_cast<int>(kStretch) / options_.outputs;
  inputs_per_stretch_ = std::min(std::max(fit / kInputsOfTile, 1) * kInputsOfTile, options_.inputs);
  weight_stretches_ = (options_.inputs + inputs_per_stretch_ - 1) / inputs_per_stretch_;
}

int DenseStage::forward_pieces(int rows) const {
  return pieces_for(work(rows), (options_.outputs + kOutputsPerBlock - 1) / kOutputsPerBlock);
}

int DenseStage::backward_pieces(int rows) const {
  const int group = stretches_per_group(count_of(rows));
  return pieces_for(2 * work(rows), (weight_stretches_ + group - 1) / group);
}

int DenseStage::stretches_per_group(int count, bool in_double) const {
  constexpr int kLeastGroups = 2;       // lets a layer be cut into pieces
  constexpr int kCachedSums = 1 << 14;  // doubles: 128 KiB, a quarter of a second-level cache
  if (!in_double && !packs_weight_gradient(count, options_.outputs)) return 1;
  const int fit = in_double ? kCachedSums / options_.outputs : kPackedInputs;
  return std::max(1, std::min(std::min(kPackedInputs, fit) / inputs_per_stretch_, weight_stretches_ / kLeastGroups));
}

void DenseStage::prepare_training() { bias_gradient_ = Buffer<float>(whole_lanes(static_cast<std::size_t>(options_.outputs))); }

void DenseStage::prepare_per_example() {
  if (trains() && options_.positions == 1) scaled_examples_.resize(static_cast<std::size_t>(max_rows_));
}

void DenseStage::forward_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows) {
  const int blocks = (options_.outputs + kOutputsPerBlock - 1) / kOutputsPerBlock;
  const int first = blocks * piece / pieces * kOutputsPerBlock;
  const int last = std::min(blocks * (piece + 1) / pieces * kOutputsPerBlock, options_.outputs);
  dense_forward(positions_of(in.value), count_of(rows), options_.inputs, weights_ + options_.weight.offset, options_.outputs,
                options_.bias.size > 0 ? weights_ + options_.bias.offset : nullptr, options_.relu, positions_of(out.value), first,
                last);
}

void DenseStage::mask(const Signal& out, int rows) const {
  if (options_.relu && out.gradient.data != nullptr)
    relu_mask(positions_of(out.value), positions_of(out.gradient), count_of(rows), static_cast<std::size_t>(options_.outputs));
}

void DenseStage::begin_backward(const Signal& out, int rows, const GradientTarget& target) {
  mask(out, rows);
  report_bias({positions_of(out.gradient), count_of(rows)}, target);
}

void DenseStage::backward_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows,
                                const GradientTarget& target) {
  if (count_of(rows) <= kFusedRows) return fused_piece(piece, pieces, in, out, rows, target);
  if (options_.data_gradient) data_piece(piece, pieces, in, out, rows);
  weight_piece(piece, pieces, in, {positions_of(out.gradient), count_of(rows)}, target);
}

std::size_t DenseStage::scratch_size() const {
  return trains() && options_.positions == 1 ? max_rows_ * row_stride(static_cast<std::size_t>(options_.outputs)) : 0;
}

void DenseStage::begin_weighted(const Signal& out, std::span<const float> factors, float* scratch, const SumTarget& target) {
  const auto outputs = static_cast<std::size_t>(options_.outputs);
  factors_ = factors;
  out_gradients_ = out.gradient;
  if (trains() && options_.positions == 1)
    scaled_ = scaled_gradients(out.gradient, static_cast<int>(factors.size()), options_.outputs, factors.data(),
                               {scratch, row_stride(outputs)}, scaled_examples_.data());
  if (options_.bias.size == 0) return;
  double* const sums = thread_scratch<Scratch::call, double>(outputs);
  std::fill_n(sums, outputs, 0.0);
  for (int k = 0; trains() && options_.positions == 1 && k < scaled_.count; ++k) add_scaled(sums, scaled_.values[k], 1, outputs);
  for (int r = 0; trains() && options_.positions > 1 && r < static_cast<int>(factors.size()); ++r) {
    if (factors[static_cast<std::size_t>(r)] == 0) continue;
    column_sums(gradients_of(out_gradients_, r), options_.outputs, bias_gradient_.data());
    add_scaled(sums, bias_gradient_.data(), factors[static_cast<std::size_t>(r)], outputs);
  }
  target.report(weight_stretches_, options_.bias.offset, sums, outputs);
}

void DenseStage::weighted_piece(int piece, int pieces, const Signal& in, const SumTarget& target) const {
  const int count = options_.positions == 1 ? scaled_.count : options_.positions;
  report_weights<double>(piece, pieces, count, target, [&](double* sum, int first, int last) {
    if (options_.frozen) return;
    if (options_.positions == 1) return dense_weight_sums(in.value, scaled_, options_.outputs, first, last, sum);
    const std::size_t size = static_cast<std::size_t>(last - first) * options_.outputs;
    float* const gradient = thread_scratch<Scratch::call>(size);
    std::fill_n(sum, size, 0.0);
    for (int r = 0; r < static_cast<int>(factors_.size()); ++r) {
      if (factors_[static_cast<std::size_t>(r)] == 0) continue;
      dense_weight_gradient({in.value[r], positions_of(in.value).stride}, gradients_of(out_gradients_, r), options_.outputs,
                            first, last, gradient);
      add_scaled(sum, gradient, factors_[static_cast<std::size_t>(r)], size);
    }
  });
}

void DenseStage::begin_norms(const Signal& in, const Signal& out, int rows, double* squared_norms) {
  mask(out, rows);
  if (!trains()) return;
  const auto inputs = static_cast<std::size_t>(options_.inputs), outputs = static_cast<std::size_t>(options_.outputs);
  const bool has_bias = options_.bias.size > 0;
  if (options_.positions == 1) {
    for (int r = 0; r < rows; ++r)
      squared_norms[r] += (squared_norm(in.value[r], inputs) + (has_bias ? 1 : 0)) * squared_norm(out.gradient[r], outputs);
    return;
  }
  // The products at a sequence's positions are summed before squaring, one stretch of the example's gradient at a time.
  for (int r = 0; r < rows; ++r) {
    const Rows x{in.value[r], positions_of(in.value).stride};
    const OutputGradients gradients = gradients_of(out.gradient, r);
    for_each_stretch<float>(
        {0, weight_stretches_}, options_.positions,
        [&](float* gradient, int first, int last) {
          dense_weight_gradient(x, gradients, options_.outputs, first, last, gradient);
        },
        [&](int, std::size_t, const float* gradient, std::size_t size) { squared_norms[r] += squared_norm(gradient, size); });
    if (!has_bias) continue;
    column_sums(gradients, options_.outputs, bias_gradient_.data());
    squared_norms[r] += squared_norm(bias_gradient_.data(), outputs);
  }
}

void DenseStage::data_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows) const {
  dense_data_gradient(positions_of(out.gradient), count_of(rows), weights_ + options_.weight.offset, options_.outputs,
                      positions_of(in.gradient), first_input(first_stretch(piece, pieces)),
                      first_input(first_stretch(piece + 1, pieces)));
}

void DenseStage::report_bias(const OutputGradients& gradients, const GradientTarget& target) {
  if (options_.bias.size == 0) return;
  if (!options_.frozen) column_sums(gradients, options_.outputs, bias_gradient_.data());
  target.report(weight_stretches_, options_.bias.offset, bias_gradient_.data(), options_.bias.size);
}

template <class T, class Compute, class Report>
void DenseStage::for_each_stretch(Stretches stretches, int count, Compute&& compute, Report&& report) const {
  const auto outputs = static_cast<std::size_t>(options_.outputs);
  const int group = stretches_per_group(count, std::is_same_v<T, double>);
  T* const gradient = thread_scratch<Scratch::call, T>(static_cast<std::size_t>(group) * inputs_per_stretch_ * outputs);
  for (int begin = stretches.first; begin < stretches.last; begin += group) {
    const int end = std::min(begin + group, stretches.last);
    compute(gradient, first_input(begin), first_input(end));
    for (int slot = begin; slot < end; ++slot) {
      const int first = first_input(slot), last = first_input(slot + 1);
      report(slot, first * outputs, gradient + (first - first_input(begin)) * outputs, (last - first) * outputs);
    }
  }
}

template <class T, class Compute>
void DenseStage::report_weights(int piece, int pieces, int count, const TargetOf<T>& target, Compute&& compute) const {
  const auto of_group = [&](T* gradient, int first, int last) {
    if (options_.frozen) std::fill_n(gradient, static_cast<std::size_t>(last - first) * options_.outputs, T{});
    compute(gradient, first, last);
  };
  for_each_stretch<T>({first_stretch(piece, pieces), first_stretch(piece + 1, pieces)}, count, of_group,
                      [&](int slot, std::size_t offset, const T* gradient, std::size_t size) {
                        target.report(slot, options_.weight.offset + offset, gradient, size);
                      });
}

void DenseStage::weight_piece(int piece, int pieces, const Signal& in, const OutputGradients& gradients,
                              const GradientTarget& target) const {
  report_weights<float>(piece, pieces, gradients.count, target, [&](float* gradient, int first, int last) {
    if (!options_.frozen) dense_weight_gradient(positions_of(in.value), gradients, options_.outputs, first, last, gradient);
  });
}

void DenseStage::fused_piece(int piece, int pieces, const Signal& in, const Signal& out, int rows,
                             const GradientTarget& target) const {
  const float* weights = weights_ + options_.weight.offset;
  const int outputs = options_.outputs;
  const int count = count_of(rows);
  const Rows x = positions_of(in.value), dx = positions_of(in.gradient), dy = positions_of(out.gradient);
  report_weights<float>(piece, pieces, count, target, [&](float* gradient, int first, int last) {
    if (options_.data_gradient && !options_.frozen)
      dense_both_gradients(x, dy, count, weights, outputs, dx, first, last, gradient);
    else if (options_.data_gradient)
      dense_data_gradient(dy, count, weights, outputs, dx, first, last);
    else if (!options_.frozen)
      dense_weight_gradient(x, {dy, count}, outputs, first, last, gradient);
  });
}

}  // namespace fedstride
