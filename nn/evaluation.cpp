#include "nn/evaluation.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "data/batch.hpp"

namespace fedstride {

double Evaluation::accuracy_on(std::span<const std::uint64_t> label_counts) const {
  double sum = 0;
  double weights = 0;
  for (std::size_t c = 0; c < label_counts.size() && c < class_examples.size(); ++c) {
    if (class_examples[c] == 0) continue;
    const auto weight = static_cast<double>(label_counts[c]);
    sum += weight * static_cast<double>(class_correct[c]) / static_cast<double>(class_examples[c]);
    weights += weight;
  }
  return weights > 0 ? sum / weights : 0;
}

Evaluator::Evaluator(const Model& model, const Dataset& data, std::vector<Row> rows)
    : model_(model), data_(data), rows_(std::move(rows)) {
  if (rows_.empty()) {
    rows_.resize(data.size());
    std::iota(rows_.begin(), rows_.end(), Row{0});
  }
}

Evaluation Evaluator::evaluate(const Vector& weights, ForEachPiece for_each_piece) {
  const std::size_t blocks = (rows_.size() + kBlock - 1) / kBlock;
  std::vector<double> losses(blocks);
  std::vector<Label> predicted(rows_.size());
  for_each_piece(static_cast<int>(blocks), [&](int block) {
    const std::size_t begin = static_cast<std::size_t>(block) * kBlock;
    const auto rows = std::span(rows_).subspan(begin, std::min<std::size_t>(kBlock, rows_.size() - begin));
    std::array<Label, kBlock> memory;
    const auto labels = std::span(memory).first(rows.size());
    auto network = networks_.borrow([&] { return std::make_unique<Network>(model_, kBlock); });
    fill_batch(data_, rows, Augmentation::none, {}, network->inputs(static_cast<int>(rows.size())));
    fill_labels(data_, rows, labels);
    const auto result = network->evaluate(weights.data(), labels, std::span(predicted).subspan(begin, rows.size()));
    losses[static_cast<std::size_t>(block)] = result.loss_sum;
    networks_.give_back(std::move(network));
  });

  Evaluation result;
  result.examples = rows_.size();
  result.class_examples.resize(static_cast<std::size_t>(data_.classes));
  result.class_correct.resize(static_cast<std::size_t>(data_.classes));
  std::uint64_t correct = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Label label = data_.labels[rows_[i]];
    const bool hit = predicted[i] == label;
    ++result.class_examples[label];
    result.class_correct[label] += hit;
    correct += hit;
  }
  if (result.examples > 0) {
    result.loss = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(result.examples);
    result.accuracy = static_cast<double>(correct) / static_cast<double>(result.examples);
  }
  return result;
}

}  // namespace fedstride
