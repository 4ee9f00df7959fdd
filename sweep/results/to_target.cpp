#include "sweep/results/results.hpp"

#include <algorithm>
#include <cmath>

namespace fedstride {
namespace {

// Returns the first of kEvaluationsInARow consecutive evaluated rounds that meet the target; null if there are none. A round
// evaluated without the metric, because it was not finite, does not meet the target.
const CellResult::Round* reached(const Target& target, const std::string& split, const CellResult& cell, bool& is_evaluated) {
  const CellResult::Round* first = nullptr;
  int in_a_row = 0;
  for (const CellResult::Round& round : cell.rounds) {
    const auto has = [&](const char* metric) { return round.numbers.contains(split + metric); };
    if (!has("accuracy") && !has("r2") && !has("loss")) continue;
    is_evaluated = true;
    const double value = round.numbers.of(split + target.metric);
    const bool is_there = target.metric == "loss" ? value <= target.at : value >= target.at;
    in_a_row = is_there ? in_a_row + 1 : 0;
    if (in_a_row == 1) first = &round;
    if (in_a_row == kEvaluationsInARow) return first;
  }
  return nullptr;
}

}  // namespace

void add_megabytes(CellResult& cell) {
  double sum = 0;
  for (CellResult::Round& round : cell.rounds) {
    sum += (round.numbers.of("uplink_bytes") + round.numbers.of("downlink_bytes")) / 1e6;
    if (!std::isnan(sum)) round.numbers["megabytes"] = sum;
  }
}

void add_to_target(const Target& target, CellResult& cell) {
  if (!target.is_declared()) return;
  for (const std::string split : {"test_", "validation_"}) {
    bool is_evaluated = false;
    const CellResult::Round* at = reached(target, split, cell, is_evaluated);
    if (!is_evaluated) continue;
    cell.numbers[split + "target_reached"] = at != nullptr ? 1 : 0;
    if (at == nullptr) continue;
    for (const Cost by : {Cost::rounds, Cost::time, Cost::bytes}) {
      const CostWords words = cost_words(by);
      const double value = by == Cost::rounds ? at->round : at->numbers.of(words.metric);
      if (!std::isnan(value)) cell.numbers[split + std::string(words.to_target)] = value;
    }
  }
}

}  // namespace fedstride
