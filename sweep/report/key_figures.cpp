#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "core/text.hpp"
#include "sweep/report/metrics.hpp"
#include "sweep/report/samples.hpp"

// Figures of results after the last round, plotted against a swept key.

namespace fedstride {
namespace {

// Returns a key's label without its unit.
std::string words(const std::string& key) {
  const std::string label = key_label(key);
  return label.substr(0, label.find(" ("));
}

std::string default_key(const FigureData& data, const FigureRequest& request) {
  if (!request.x.empty()) return request.x;
  const auto keys = data.numeric_keys();
  if (request.kind == "accuracy-by-rate") {
    for (const auto& key : keys)
      if (key == "learning-rate") return key;
    for (const auto& key : keys)
      if (data.is_tuned(key)) return key;
    return "learning-rate";
  }
  for (const auto& key : keys)
    if (!data.is_tuned(key)) return key;
  return keys.empty() ? "" : keys.front();
}

Figure draw_metric(const FigureData& data, const FigureRequest& request, const std::string& key, const std::string& metric) {
  FigureDraft draft{.title = title_of_metric(metric) + " by " + words(key), .missing = metric + " and " + key};
  const bool all_ranks = request.kind == "accuracy-by-rate" || data.is_tuned(key);
  // Only the best tuned configuration is drawn at each x; its tooltip names it.
  std::vector<std::string> left_out{key};
  if (!all_ranks && request.ranks.size() == 1)
    for (const auto& tuned : data.results().experiment.tuning.keys) left_out.push_back(tuned);
  std::vector<std::string> names;
  std::vector<double> numbers;
  for (const auto& value : data.values(key)) {
    names.push_back(value);
    if (const auto number = number_of(value)) numbers.push_back(*number);
  }
  const bool is_numeric = numbers.size() == names.size();
  auto& samples = draft.samples;
  for (const SummaryRow* row : data.rows(metric)) {
    if (row->round || row->client || !is_wanted(*row, request, all_ranks)) continue;
    const std::string value = value_at(row->point, key);
    Sample sample{.row = row,
                  .slot = value,
                  .identity = identity_of(data, *row, request, left_out),
                  .text = point_text(*row, "", ""),
                  .is_reference = value.empty()};
    if (!value.empty())
      sample.x = is_numeric ? *number_of(value) : static_cast<double>(std::ranges::find(names, value) - names.begin());
    samples.push_back(std::move(sample));
  }
  // A reference level has no x and is drawn only together with lines over a numeric key.
  const bool has_lines = std::ranges::any_of(samples, [](const Sample& sample) { return !sample.is_reference; });
  if (!has_lines || !is_numeric) std::erase_if(samples, [](const Sample& sample) { return sample.is_reference; });
  for (auto& sample : samples)
    if (sample.is_reference) sample.x = std::ranges::find_if(samples, [](const Sample& other) { return !other.is_reference; })->x;
  draft.model = metric_plot(key_label(key), metric, request);
  draft.model.style = Plot::Style::points;
  if (!samples.empty())
    draft.model.log_x = is_numeric && request.log_x.value_or(request.kind == "accuracy-by-rate" || spans_decades(numbers));
  if (!is_numeric) draft.model.x_names = names;
  draft.is_chosen = !all_ranks;
  if (data.results().experiment.command == "run") draft.after = " After the last round.";
  Figure figure = figure_of(data, request, std::move(draft));
  for (auto& plot : figure.plots)
    for (auto& line : plot.lines) std::ranges::stable_sort(line.points, {}, &PlotPoint::x);
  return figure;
}

}  // namespace

Figure draw_by_key(const FigureData& data, const FigureRequest& request) {
  return draw_metric(data, request, default_key(data, request), request.y.empty() ? main_metric(data) : request.y);
}

Figure draw_lines(const FigureData& data, const FigureRequest& request) {
  if (request.x.empty() || request.x == "round") return draw_by_round(data, request);
  if (std::ranges::find(data.keys(), request.x) == data.keys().end() && !data.rows(request.x).empty())
    return draw_by_epsilon(data, request);
  std::string metric = request.y.empty() ? main_metric(data) : request.y;
  const bool has_test = metric.starts_with("test_") && !data.rows(metric).empty();
  if (request.y.empty() && !has_test && !data.metrics().empty()) metric = data.metrics().front();
  return draw_metric(data, request, request.x, metric);
}

}  // namespace fedstride
