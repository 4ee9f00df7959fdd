#include "sweep/results/together.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/files.hpp"
#include "core/text.hpp"
#include "dp/ledger/row_budget.hpp"
#include "dp/ledger/statement.hpp"
#include "sim/settings/configuration.hpp"
#include "sweep/cells/grid.hpp"

namespace fedstride {

std::vector<CostTogether> cost_together(const std::filesystem::path& sweep, std::span<const Cell> cells) {
  struct Runs {
    std::vector<RowSpending> spent = {};
    double delta = 1;
  };
  std::map<std::pair<std::string, Level>, Runs> all;
  for (const Cell& cell : cells) {
    const std::filesystem::path run = sweep / "cells" / cell.key;
    if (!is_there(run / "ledger.jsonl")) continue;
    const LedgerBook book = read_ledger(run / "ledger.jsonl", {}, ledger_key(run)).book;
    const Configuration configuration = resolve_unchecked(cell.settings);
    const RowSpending spent = row_spending(book.totals());
    for (const LedgerStatement& promised : book.header().statements) {
      Runs& runs = all[{configuration.data.empty() ? configuration.dataset : configuration.data, promised.level}];
      runs.spent.push_back(spent);
      runs.delta = std::min(runs.delta, promised.delta);
    }
  }
  std::vector<CostTogether> costs;
  for (const auto& [key, runs] : all)
    costs.push_back({.rows = key.first,
                     .level = std::string(name_of(key.second)),
                     .cells = runs.spent.size(),
                     .epsilon = epsilon_together(runs.spent, key.second, runs.delta).epsilon,
                     .delta = runs.delta});
  return costs;
}

std::string cost_text(const CostTogether& cost) {
  return counted(cost.cells, "cell") + " on '" + one_line(cost.rows) + "' cost epsilon " + epsilon_text(cost.epsilon) +
         " at delta " + number_text(cost.delta) + " together (" + cost.level + " level)";
}

Json cost_json(const CostTogether& cost) {
  return {{"rows", cost.rows},
          {"level", cost.level},
          {"cells", cost.cells},
          {"epsilon", number_or_null(cost.epsilon)},
          {"delta", cost.delta}};
}

}  // namespace fedstride
