#include <algorithm>
#include <set>

#include "report/figures.hpp"
#include "report/metrics.hpp"

namespace fedstride {

std::string value_at(const FigureData::Point& point, std::string_view key) {
  for (const auto& [name, value] : point)
    if (name == key) return value;
  return {};
}

bool competes(const Tuning& tuning, const FigureData::Point& point) {
  return std::ranges::any_of(tuning.keys, [&](const std::string& key) { return !value_at(point, key).empty(); });
}

FigureData::FigureData(const SweepResults& results) : results_(&results) {
  for (const auto& row : results.summary) rows_[row.metric].push_back(&row);
  for (const auto& axis : results.experiment.axes)
    for (const auto& key : axis.keys)
      if (key != "seed" && std::ranges::find(keys_, key) == keys_.end()) keys_.push_back(key);
}

const FigureData::Rows& FigureData::rows(std::string_view metric) const {
  static const Rows kNone;
  const auto found = rows_.find(metric);
  return found == rows_.end() ? kNone : found->second;
}

std::vector<std::string> FigureData::metrics() const {
  std::vector<std::string> names;
  for (const auto& [name, rows] : rows_) names.push_back(name);
  return names;
}

bool FigureData::has_rounds(std::string_view metric) const {
  std::map<std::string_view, std::uint32_t> first;
  for (const SummaryRow* row : rows(metric))
    if (row->round && !row->client)
      if (const auto [known, is_new] = first.try_emplace(row->configuration, *row->round);
          !is_new && known->second != *row->round)
        return true;
  return false;
}

bool FigureData::has_clients(std::string_view metric) const {
  return std::ranges::any_of(rows(metric), [](const SummaryRow* row) { return row->client && *row->client > 0; });
}

std::vector<std::string> FigureData::values(std::string_view key) const {
  std::vector<std::string> values;
  std::set<std::string_view> seen;
  for (const auto& cell : results_->cells) {
    if (cell.status != "finished" || !seen.insert(cell.cell.configuration).second) continue;
    const std::string value = cell.cell.value_of(key);
    if (!value.empty() && std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return values;
}

std::vector<std::string> FigureData::numeric_keys() const {
  std::vector<std::string> numeric;
  for (const auto& key : keys_) {
    const auto all = values(key);
    if (all.size() > 1 && std::ranges::all_of(all, [](const std::string& value) { return number_of(value).has_value(); }))
      numeric.push_back(key);
  }
  return numeric;
}

bool FigureData::is_tuned(std::string_view key) const {
  return std::ranges::find(results_->experiment.tuning.keys, key) != results_->experiment.tuning.keys.end();
}

}  // namespace fedstride
