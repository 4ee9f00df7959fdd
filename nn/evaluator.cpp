#include "nn/evaluator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

namespace fedstride {

namespace {

struct BlockOutcome {
  BatchLoss loss;
  std::array<Label, kMaxEvaluated> predicted;  ///< only for Targets::classes
};

std::vector<BlockOutcome> outcomes_of(std::span<const EvaluatedRows> blocks, Pool<Network>& networks, const Model& model,
                                      const Dataset& data, const Vector& weights, ForEachPiece for_each_piece,
                                      std::vector<float>* scores = nullptr) {
  const auto outputs = static_cast<std::size_t>(data.classes);
  std::vector<BlockOutcome> outcomes(blocks.size());
  for_each_piece(static_cast<int>(blocks.size()), [&](int index) {
    const auto& [rows, skew, group] = blocks[static_cast<std::size_t>(index)];
    BlockOutcome& outcome = outcomes[static_cast<std::size_t>(index)];
    AnswerRoom answers;
    auto network = networks.borrow([&] { return std::make_unique<Network>(model, static_cast<int>(kMaxEvaluated)); });
    fill_batch(data, rows, Augmentation::none, {}, network->inputs(static_cast<int>(rows.size())), skew);
    const auto classes = std::span(outcome.predicted).first(data.targets == Targets::classes ? rows.size() : 0);
    // Every block but the last is full.
    const auto own = scores == nullptr ? std::span<float>()
                                       : std::span(*scores).subspan(static_cast<std::size_t>(index) * kMaxEvaluated * outputs,
                                                                    rows.size() * outputs);
    outcome.loss = network->evaluate(weights.data(), answers.read(data, rows), classes, serially, own);
    networks.give_back(std::move(network));
  });
  return outcomes;
}

}  // namespace

Variation::Variation(const Dataset& data, std::span<const Row> rows) : data_(&data) {
  if (data.targets != Targets::values || rows.empty()) return;
  const std::size_t count = data.form().answers();
  means_.resize(count);
  for (const Row row : rows)
    for (std::size_t k = 0; k < count; ++k) means_[k] += static_cast<double>(data.values[data.place(row) * count + k]);
  for (double& mean : means_) mean /= static_cast<double>(rows.size());
}

double Variation::of(std::span<const Row> rows) const {
  const std::size_t count = means_.size();
  double sum = 0;
  for (const Row row : rows)
    for (std::size_t k = 0; k < count; ++k) {
      const double difference = static_cast<double>(data_->values[data_->place(row) * count + k]) - means_[k];
      sum += difference * difference;
    }
  return sum / static_cast<double>(count);
}

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

std::vector<EvaluatedRows> Evaluator::blocks_of(std::size_t first, std::size_t last) const {
  std::vector<EvaluatedRows> blocks;
  for (std::size_t block = first; block < last; ++block) {
    const auto left = std::span(std::as_const(rows_)).subspan(block * kMaxEvaluated);
    blocks.push_back({left.first(std::min(kMaxEvaluated, left.size())), skew_});
  }
  return blocks;
}

std::vector<float> Evaluator::scores(const Vector& weights, ForEachPiece for_each_piece) {
  std::vector<float> scores(rows_.size() * static_cast<std::size_t>(data_.classes));
  outcomes_of(blocks_of(0, blocks()), networks_, model_, data_, weights, for_each_piece, &scores);
  return scores;
}

Metrics Evaluator::metrics(const Vector& weights, ForEachPiece for_each_piece) {
  if (data_.targets == Targets::positions) return {};
  const std::vector<float> all = scores(weights, for_each_piece);
  return std::ranges::all_of(all, [](float score) { return std::isfinite(score); }) ? metrics_of(data_, rows_, all) : Metrics{};
}

EvaluatedBlocks Evaluator::evaluate_blocks(const Vector& weights, std::size_t first, std::size_t last,
                                           ForEachPiece for_each_piece) {
  const std::vector<EvaluatedRows> blocks = blocks_of(first, last);
  const auto outcomes = outcomes_of(blocks, networks_, model_, data_, weights, for_each_piece);
  EvaluatedBlocks result;
  const bool by_class = data_.targets == Targets::classes;
  result.class_examples.resize(static_cast<std::size_t>(by_class ? data_.classes : 0));
  result.class_correct.resize(result.class_examples.size());
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const auto& rows = blocks[block].rows;
    result.examples += rows.size();
    result.losses.push_back(outcomes[block].loss.loss_sum);
    result.answers += outcomes[block].loss.counted;
    result.correct += outcomes[block].loss.correct;
    if (variation_.exists()) result.variations.push_back(variation_.of(rows));
    for (std::size_t k = 0; by_class && k < rows.size(); ++k) {
      const Label label = data_.labels[data_.place(rows[k])];
      ++result.class_examples[label];
      result.class_correct[label] += outcomes[block].predicted[k] == label;
    }
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

GroupEvaluator::GroupEvaluator(const Model& model, const Dataset& data, const std::vector<std::span<const Row>>& groups,
                               const std::vector<ClientSkew>& skews)
    : model_(model), data_(data) {
  regroup(groups, skews);
}

void GroupEvaluator::regroup(const std::vector<std::span<const Row>>& groups, const std::vector<ClientSkew>& skews) {
  groups_ = groups.size();
  blocks_.clear();
  std::vector<Row> all;
  if (data_.targets == Targets::values)
    for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  variation_ = Variation(data_, all);
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (std::size_t begin = 0; begin < groups[group].size(); begin += kMaxEvaluated)
      blocks_.push_back({groups[group].subspan(begin, std::min(kMaxEvaluated, groups[group].size() - begin)),
                         skews.empty() ? ClientSkew{} : skews[group], group});
}

std::vector<GroupEvaluation> GroupEvaluator::evaluate(const Vector& weights, ForEachPiece for_each_piece) {
  const auto outcomes = outcomes_of(blocks_, networks_, model_, data_, weights, for_each_piece);
  std::vector<GroupEvaluation> results(groups_);
  std::vector<double> variations(groups_);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const EvaluatedRows& block = blocks_[i];
    GroupEvaluation& result = results[block.group];
    result.loss += outcomes[i].loss.loss_sum;
    result.examples += block.rows.size();
    result.answers += outcomes[i].loss.counted;
    result.correct += outcomes[i].loss.correct;
    if (variation_.exists()) variations[block.group] += variation_.of(block.rows);
  }
  for (std::size_t group = 0; group < groups_; ++group) {
    GroupEvaluation& result = results[group];
    if (result.examples == 0) continue;
    if (variation_.exists()) {
      result.accuracy = r_squared(result.loss, variations[group]);
      result.variation = variations[group] / static_cast<double>(result.examples);
    } else if (result.answers > 0)
      result.accuracy = static_cast<double>(result.correct) / static_cast<double>(result.answers);
    result.loss /= static_cast<double>(result.examples);
  }
  return results;
}

}  // namespace fedstride
