#include "nn/evaluation.hpp"

#include <algorithm>
#include <numeric>

#include "nn/evaluate_block.hpp"

namespace fedstride {

static_assert(Evaluator::kBlock == kMaxEvaluated);

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

EvaluatedBlocks Evaluator::evaluate_blocks(const Vector& weights, std::size_t first, std::size_t last,
                                           ForEachPiece for_each_piece) {
  EvaluatedBlocks result;
  result.losses.resize(last - first);
  result.class_examples.resize(static_cast<std::size_t>(data_.classes));
  result.class_correct.resize(static_cast<std::size_t>(data_.classes));
  const std::size_t first_row = first * kBlock;
  std::vector<Label> predicted(std::min(last * kBlock, rows_.size()) - std::min(first_row, rows_.size()));
  for_each_piece(static_cast<int>(last - first), [&](int block) {
    const std::size_t begin = static_cast<std::size_t>(block) * kBlock;
    const auto rows = std::span(rows_).subspan(first_row + begin, std::min<std::size_t>(kBlock, predicted.size() - begin));
    result.losses[static_cast<std::size_t>(block)] =
        evaluate_block(networks_, model_, data_, weights, rows, std::span(predicted).subspan(begin, rows.size()));
  });
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const Label label = data_.labels[rows_[first_row + i]];
    ++result.class_examples[label];
    result.class_correct[label] += predicted[i] == label;
  }
  return result;
}

Evaluation joined_blocks(std::span<const EvaluatedBlocks> parts) {
  Evaluation result;
  double loss = 0;
  for (const EvaluatedBlocks& part : parts) {
    loss = std::accumulate(part.losses.begin(), part.losses.end(), loss);
    result.class_examples.resize(std::max(result.class_examples.size(), part.class_examples.size()));
    result.class_correct.resize(result.class_examples.size());
    for (std::size_t c = 0; c < part.class_examples.size(); ++c) {
      result.class_examples[c] += part.class_examples[c];
      result.class_correct[c] += part.class_correct[c];
    }
  }
  result.examples = std::accumulate(result.class_examples.begin(), result.class_examples.end(), std::uint64_t{0});
  const auto correct = std::accumulate(result.class_correct.begin(), result.class_correct.end(), std::uint64_t{0});
  if (result.examples > 0) {
    result.loss = loss / static_cast<double>(result.examples);
    result.accuracy = static_cast<double>(correct) / static_cast<double>(result.examples);
  }
  return result;
}

Evaluation Evaluator::evaluate(const Vector& weights, ForEachPiece for_each_piece) {
  const EvaluatedBlocks all = evaluate_blocks(weights, 0, blocks(), for_each_piece);
  return joined_blocks({&all, 1});
}

}  // namespace fedstride
