#include "nn/evaluation.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "nn/evaluate_block.hpp"

namespace fedstride {

static_assert(Evaluator::kBlock == kMaxEvaluated);

Evaluation Evaluation::unknown() {
  Evaluation unknown;
  unknown.loss = unknown.accuracy = std::numeric_limits<double>::quiet_NaN();
  return unknown;
}

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

Evaluator::Evaluator(const Model& model, const Dataset& data, std::vector<Row> rows, const ClientSkew& skew)
    : model_(model), data_(data), rows_(std::move(rows)), skew_(skew) {
  if (rows_.empty()) {
    rows_.resize(data.size());
    std::iota(rows_.begin(), rows_.end(), Row{0});
  }
  variation_ = Variation(data, rows_);
}

EvaluatedBlocks Evaluator::evaluate_blocks(const Vector& weights, std::size_t first, std::size_t last,
                                           ForEachPiece for_each_piece) {
  const std::size_t first_row = first * kBlock;
  const auto all = std::span(rows_).subspan(std::min(first_row, rows_.size()));
  const auto rows_of = [&](std::size_t block) {
    const std::size_t begin = block * kBlock;
    return all.subspan(begin, std::min<std::size_t>(kBlock, all.size() - begin));
  };
  EvaluatedBlocks result;
  result.examples = std::min((last - first) * kBlock, all.size());
  std::vector<BatchLoss> losses(last - first);
  const bool by_class = data_.targets == Targets::classes;
  std::vector<Label> predicted(by_class ? result.examples : 0);
  for_each_piece(static_cast<int>(last - first), [&](int index) {
    const auto block = static_cast<std::size_t>(index);
    const auto rows = rows_of(block);
    const auto classes = by_class ? std::span(predicted).subspan(block * kBlock, rows.size()) : std::span<Label>();
    losses[block] = evaluate_block(networks_, model_, data_, weights, rows, classes, skew_);
  });
  for (std::size_t block = 0; block < losses.size(); ++block) {
    result.losses.push_back(losses[block].loss_sum);
    result.answers += losses[block].counted;
    result.correct += losses[block].correct;
    if (variation_.exists()) result.variations.push_back(variation_.of(rows_of(block)));
  }
  if (!by_class) return result;
  result.class_examples.resize(static_cast<std::size_t>(data_.classes));
  result.class_correct.resize(static_cast<std::size_t>(data_.classes));
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const Label label = data_.labels[data_.place(all[i])];
    ++result.class_examples[label];
    result.class_correct[label] += predicted[i] == label;
  }
  return result;
}

Evaluation joined_blocks(std::span<const EvaluatedBlocks> parts) {
  Evaluation result;
  double loss = 0, variation = 0;
  std::uint64_t answers = 0, correct = 0;
  bool of_values = false;
  for (const EvaluatedBlocks& part : parts) {
    loss = std::accumulate(part.losses.begin(), part.losses.end(), loss);
    variation = std::accumulate(part.variations.begin(), part.variations.end(), variation);
    of_values = of_values || !part.variations.empty();
    result.examples += part.examples;
    answers += part.answers;
    correct += part.correct;
    result.class_examples.resize(std::max(result.class_examples.size(), part.class_examples.size()));
    result.class_correct.resize(result.class_examples.size());
    for (std::size_t c = 0; c < part.class_examples.size(); ++c) {
      result.class_examples[c] += part.class_examples[c];
      result.class_correct[c] += part.class_correct[c];
    }
  }
  if (result.examples > 0) result.loss = loss / static_cast<double>(result.examples);
  if (of_values) {
    result.metric = "R2";
    result.accuracy = r_squared(loss, variation);
  } else if (answers > 0) {
    result.accuracy = static_cast<double>(correct) / static_cast<double>(answers);
  }
  return result;
}

Evaluation Evaluator::evaluate(const Vector& weights, ForEachPiece for_each_piece) {
  const EvaluatedBlocks all = evaluate_blocks(weights, 0, blocks(), for_each_piece);
  return joined_blocks({&all, 1});
}

}  // namespace fedstride
