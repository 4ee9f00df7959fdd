#include "sweep/report/figures.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "sweep/report/metrics.hpp"

namespace fedstride {
namespace {

using Requests = std::vector<FigureRequest>;

bool has_test_or_validation(const FigureData& data, const std::string& number) {
  return data.has_rounds("test_" + number) || data.has_rounds("validation_" + number);
}

Requests each_key(const FigureData& data) {
  Requests requests;
  const std::string metric = main_metric(data);
  if (data.rows(metric).empty()) return requests;
  const bool has_rates = metric.starts_with("test_");  // accuracy-by-rate then draws the learning rates
  for (const auto& key : data.numeric_keys())
    if (!data.is_tuned(key) && !(has_rates && key == "learning-rate")) requests.push_back({.kind = "accuracy-by-key", .x = key});
  return requests;
}

// For commands other than run, requests every metric against every key, up to kMaxDefaultFigures figures.
Requests each_metric(const FigureData& data) {
  constexpr std::size_t kMaxDefaultFigures = 6;
  Requests requests;
  if (data.results().experiment.command == "run") return requests;
  for (const auto& key : data.numeric_keys())
    for (const auto& metric : data.metrics())
      if (requests.size() < kMaxDefaultFigures && metric != key) requests.push_back({.kind = "lines", .x = key, .y = metric});
  return requests;
}

bool is_tuned_by_number(const FigureData& data) {
  return std::ranges::any_of(data.numeric_keys(),
                             [&](const std::string& key) { return data.is_tuned(key) || key == "learning-rate"; });
}

bool varies_by_client(const FigureData& data, const char* metric) {
  std::map<std::string_view, double> first;
  for (const SummaryRow* row : data.rows(metric))
    if (row->round && row->client)
      if (const auto [known, is_new] = first.try_emplace(row->configuration, row->mean); !is_new && known->second != row->mean)
        return true;
  return false;
}

// True if any step was rejected and the share of rejected steps is known for more than one client or round.
bool has_rejected_steps(const FigureData& data) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> points;
  bool any = false;
  for (const SummaryRow* row : data.rows("rejected_share")) {
    if (!row->round || !row->client) continue;
    points.emplace(*row->round, *row->client);
    any = any || row->mean > 0;
  }
  return any && points.size() > 1;
}

bool is_private(const FigureData& data) {
  const auto metrics = data.metrics();
  return std::ranges::any_of(metrics, [](const std::string& metric) {
    return metric == "epsilon_spent" || metric == "client_epsilon_spent" || metric.find("epsilon_by_") != std::string::npos;
  });
}

bool has_times(const FigureData& data) {
  return std::ranges::any_of(data.results().cells, [](const CellResult& cell) { return cell.numbers.contains("seconds"); });
}

constexpr FigureKind kKinds[] = {
    {"accuracy-by-round",
     [](const FigureData& data) { return has_test_or_validation(data, "accuracy") || has_test_or_validation(data, "r2"); },
     draw_by_round},
    {"loss-by-round", [](const FigureData& data) { return has_test_or_validation(data, "loss"); }, draw_by_round},
    {"accuracy-by-key", nullptr, draw_by_key, each_key},
    {"accuracy-by-rate",
     [](const FigureData& data) {
       const std::string metric = main_metric(data);
       return metric.starts_with("test_") && !data.rows(metric).empty() && is_tuned_by_number(data);
     },
     draw_by_key},
    {"step-sizes", [](const FigureData& data) { return varies_by_client(data, "learning_rate"); }, draw_clients},
    {"client-spread", [](const FigureData& data) { return data.has_rounds("own_accuracy_p50") || data.has_rounds("own_r2_p50"); },
     draw_client_spread},
    {"rejected-share", has_rejected_steps, draw_clients},
    {"epsilon-by-round", is_private, draw_epsilon},
    {"accuracy-by-epsilon", is_private, draw_by_epsilon},
    {"lines", nullptr, draw_lines, each_metric},
    {"partition", [](const FigureData& data) { return data.has_clients("rows_of_class_0"); }, draw_partition},
    {"time", has_times, draw_time},
};

}  // namespace

std::string main_metric(const FigureData& data) {
  for (const char* metric : {"test_accuracy", "test_r2", "validation_accuracy", "validation_r2"})
    if (!data.rows(metric).empty()) return metric;
  return "test_accuracy";
}

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

std::span<const FigureKind> figure_kinds() { return kKinds; }

std::vector<Figure> figures_of(const SweepResults& results) {
  const FigureData data(results);
  Requests requests = results.experiment.figures;
  if (requests.empty())
    for (const auto& kind : kKinds) {
      if (kind.requests != nullptr)
        std::ranges::copy(kind.requests(data), std::back_inserter(requests));
      else if (kind.is_usual(data))
        requests.push_back({.kind = std::string(kind.name)});
    }
  std::vector<Figure> figures;
  for (const auto& request : requests) {
    const auto kind = std::ranges::find(kKinds, request.kind, &FigureKind::name);
    if (kind == std::end(kKinds)) {
      std::vector<std::string> names;
      for (const auto& known : kKinds) names.emplace_back(known.name);
      throw usage_error(unknown_name("kind of [[figure]]", request.kind, names));
    }
    figures.push_back(kind->draw(data, request));
  }
  return figures;
}

}  // namespace fedstride
