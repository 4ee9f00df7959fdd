#include "sweep/results/comparison.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace fedstride {
namespace {

using Values = MethodTable::Values;

bool has_key(const std::vector<std::string>& list, const std::string& value) {
  return std::ranges::find(list, value) != list.end();
}

// Sorts the keys of an experiment into methods and conditions.
class Sorter {
 public:
  explicit Sorter(const Experiment& experiment) : experiment_(experiment) {}

  bool is_method(const std::string& key) const {
    const auto& [rows, columns] = experiment_.table;
    if (has_key(rows, key)) return true;
    if (has_key(columns, key)) return false;
    if (rows.empty() != columns.empty()) return rows.empty();
    if (experiment_.command != "run") return true;
    if (key == "variant") return variants_are_methods();
    for (const Axis& axis : experiment_.axes)
      if (has_key(axis.keys, key)) return std::ranges::all_of(axis.keys, [&](const auto& tied) { return is_of_method(tied); });
    return is_of_method(key);
  }

 private:
  bool is_of_method(const std::string& key) const {
    const KeyInfo* info = find_key(key);
    if (info == nullptr) return true;  // the key "run", whose values are folders
    const bool trains = info->question == Question::training || info->question == Question::federation;
    return trains && info->group != "attack" && info->group != "cohort" && key != "rounds";
  }

  bool variants_are_methods() const {
    bool any = false, any_method = false;
    for (const Axis& axis : experiment_.axes) {
      if (!has_key(axis.keys, "variant") && !axis.when.contains("variant")) continue;
      for (const Axis::Value& value : axis.values)
        for (const auto& [key, setting] : value.settings) {
          any = true;
          any_method = any_method || is_of_method(key);
        }
    }
    return any_method || !any;
  }

  const Experiment& experiment_;
};

Values point_values(const Cell& cell, const std::vector<std::string>& keys) {
  Values values;
  for (const auto& key : keys) values.push_back(cell.value_of(key));
  return values;
}

std::size_t found_or_added(std::vector<Values>& all, const Values& values) {
  const auto found = std::ranges::find(all, values);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  all.push_back(values);
  return all.size() - 1;
}

}  // namespace

MethodTable method_table(const SweepResults& results) {
  std::vector<Seeds> finished;
  for (auto& seeds : by_configuration(results.cells))
    if (std::ranges::any_of(seeds, [](const CellResult* cell) { return cell->status == "finished"; }))
      finished.push_back(std::move(seeds));
  MethodTable table;
  const Sorter sorter(results.experiment);
  for (const auto& key : swept_keys(results)) {
    std::set<std::string> values;  // ignores configurations without the key: they also differ in another key
    for (const Seeds& seeds : finished)
      if (const std::string value = seeds.front()->cell.value_of(key); !value.empty()) values.insert(value);
    if (key == "seed" || values.size() < 2 || has_key(results.experiment.tuning.keys, key)) continue;
    (sorter.is_method(key) ? table.method_keys : table.condition_keys).push_back(key);
  }
  const auto ranks = places(results.experiment, results.cells);
  const auto rank = [&](const Seeds& seeds) {
    const auto found = ranks.find(seeds.front()->cell.configuration);
    return found == ranks.end() ? 1 << 30 : found->second;
  };
  for (Seeds& seeds : finished) {
    const std::size_t condition = found_or_added(table.conditions, point_values(seeds.front()->cell, table.condition_keys));
    const std::size_t method = found_or_added(table.methods, point_values(seeds.front()->cell, table.method_keys));
    table.seeds.resize(table.conditions.size());
    for (auto& column : table.seeds) column.resize(table.methods.size());
    Seeds& kept = table.seeds[condition][method];
    if (kept.empty() || rank(seeds) < rank(kept)) kept = std::move(seeds);
  }
  return table;
}

Comparison compare(const MethodTable& table, const std::string& metric) {
  Comparison result{.metric = metric, .highest = !is_best_lowest(metric)};
  for (const auto& column : table.seeds) result.entries.push_back(compared(column, metric, result.highest));
  const bool is_ranked = metric.ends_with("accuracy") || metric.ends_with("r2") || is_best_lowest(metric);
  result.is_compared = is_ranked && std::ranges::any_of(result.entries, [](const std::vector<Compared>& column) {
                         return std::ranges::any_of(column, &Compared::is_best);
                       });
  return result;
}

std::vector<std::string> compared_metrics(const SweepResults& results) {
  NameSet known;
  for (const CellResult& cell : results.cells)
    if (cell.status == "finished")
      for (const auto& [name, value] : cell.numbers) known.insert(name);
  std::vector<std::string> metrics;
  if (results.experiment.target.is_declared())
    for (const std::string split : {"test_", "validation_"})
      if (metrics.empty() && known.contains(split + "target_reached"))
        metrics.push_back(split + std::string(cost_words(results.experiment.by).to_target));
  for (const std::string name : {"test_accuracy", "test_r2", "validation_accuracy", "validation_r2", "test_loss",
                                 "validation_loss", "epsilon_spent", "client_epsilon_spent"}) {
    const bool is_second = name.starts_with("validation_") && known.contains("test_" + name.substr(11));
    if (known.contains(name) && !is_second) metrics.push_back(name);
  }
  constexpr std::size_t kMaxOtherMetrics = 6;
  if (metrics.empty() || results.experiment.command != "run") {
    metrics.clear();
    for (const auto& name : known)
      if (metrics.size() < kMaxOtherMetrics && !is_timing(name)) metrics.push_back(name);
  }
  return metrics;
}

}  // namespace fedstride
