#include "nn/group_evaluation.hpp"

#include <algorithm>
#include <array>

#include "nn/evaluate_block.hpp"

namespace fedstride {
namespace {

struct BlockOutcome {
  double loss = 0;
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
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (std::size_t begin = 0; begin < groups[group].size(); begin += kMaxEvaluated)
      blocks_.push_back({group, groups[group].subspan(begin, std::min(kMaxEvaluated, groups[group].size() - begin)),
                         skews.empty() ? ClientSkew{} : skews[group]});
}

std::vector<GroupEvaluation> GroupEvaluator::evaluate(const Vector& weights, ForEachPiece for_each_piece) {
  std::vector<BlockOutcome> outcomes(blocks_.size());
  for_each_piece(static_cast<int>(blocks_.size()), [&](int index) {
    const Block& block = blocks_[static_cast<std::size_t>(index)];
    BlockOutcome& outcome = outcomes[static_cast<std::size_t>(index)];
    outcome.loss = evaluate_block(networks_, model_, data_, weights, block.rows,
                                  std::span(outcome.predicted).first(block.rows.size()), block.skew);
  });
  std::vector<GroupEvaluation> results(groups_);
  const auto classes = static_cast<std::size_t>(data_.classes);
  confusion_.assign(classes, std::vector<std::uint64_t>(classes));
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    GroupEvaluation& result = results[blocks_[i].group];
    result.loss += outcomes[i].loss;
    result.examples += blocks_[i].rows.size();
    for (std::size_t k = 0; k < blocks_[i].rows.size(); ++k) {
      const Label label = data_.labels[data_.place(blocks_[i].rows[k])];
      result.correct += outcomes[i].predicted[k] == label;
      ++confusion_[label][outcomes[i].predicted[k]];
    }
  }
  for (GroupEvaluation& result : results) {
    if (result.examples == 0) continue;
    const auto examples = static_cast<double>(result.examples);
    result.loss /= examples;
    result.accuracy = static_cast<double>(result.correct) / examples;
  }
  return results;
}

}  // namespace fedstride
