#include "nn/group_evaluation.hpp"

#include <algorithm>
#include <array>

#include "nn/evaluate_block.hpp"

namespace fedstride {
namespace {

struct BlockOutcome {
  BatchLoss loss;
  std::array<Label, kMaxEvaluated> predicted;
};

}  // namespace

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
      blocks_.push_back({group, groups[group].subspan(begin, std::min(kMaxEvaluated, groups[group].size() - begin)),
                         skews.empty() ? ClientSkew{} : skews[group]});
}

std::vector<GroupEvaluation> GroupEvaluator::evaluate(const Vector& weights, ForEachPiece for_each_piece) {
  std::vector<BlockOutcome> outcomes(blocks_.size());
  const bool by_class = data_.targets == Targets::classes;
  for_each_piece(static_cast<int>(blocks_.size()), [&](int index) {
    const Block& block = blocks_[static_cast<std::size_t>(index)];
    BlockOutcome& outcome = outcomes[static_cast<std::size_t>(index)];
    const auto classes = by_class ? std::span(outcome.predicted).first(block.rows.size()) : std::span<Label>();
    outcome.loss = evaluate_block(networks_, model_, data_, weights, block.rows, classes, block.skew);
  });
  std::vector<GroupEvaluation> results(groups_);
  std::vector<double> variations(groups_);
  const auto classes = static_cast<std::size_t>(by_class ? data_.classes : 0);
  confusion_.assign(classes, std::vector<std::uint64_t>(classes));
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    GroupEvaluation& result = results[block.group];
    result.loss += outcomes[i].loss.loss_sum;
    result.examples += block.rows.size();
    result.answers += outcomes[i].loss.counted;
    result.correct += outcomes[i].loss.correct;
    if (variation_.exists()) variations[block.group] += variation_.of(block.rows);
    for (std::size_t k = 0; by_class && k < block.rows.size(); ++k)
      ++confusion_[data_.labels[data_.place(block.rows[k])]][outcomes[i].predicted[k]];
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
