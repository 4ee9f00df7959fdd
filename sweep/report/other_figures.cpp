#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/text.hpp"
#include "sweep/report/metrics.hpp"
#include "sweep/report/samples.hpp"

// Figures other than line plots: maps of the partition, and bar charts of time and speed.

namespace fedstride {
namespace {

constexpr std::uint32_t kMaxMapClients = 100;
constexpr std::size_t kMaxMaps = 6;
constexpr std::size_t kMaxBars = 40;

// Returns a configuration's name, made of its values for the keys that vary.
std::string name_of(const FigureData& data, const FigureData::Point& point) {
  std::string name;
  for (const auto& [key, value] : point)
    if (data.values(key).size() > 1 || data.keys().size() == 1) name += (name.empty() ? "" : ", ") + value_label(key, value);
  return name.empty() ? "the only configuration" : name;
}

std::vector<std::string> class_names(const FigureData& data, std::string_view configuration) {
  for (const CellResult& cell : data.results().cells)
    if (cell.cell.configuration == configuration && !cell.class_names.empty()) return cell.class_names;
  return {};
}

}  // namespace

Figure draw_partition(const FigureData& data, const FigureRequest& request) {
  Figure figure{
      .kind = request.kind, .title = request.title.empty() ? "Classes held by each client" : request.title, .caption = {}};
  // Sorted by class number: sorted by name, rows_of_class_10 would precede rows_of_class_2.
  std::map<int, std::string> classes;
  constexpr std::string_view start = "rows_of_class_";
  for (const auto& metric : data.metrics())
    if (const auto number = metric.starts_with(start) ? number_of(metric.substr(start.size())) : std::nullopt)
      classes[static_cast<int>(*number)] = metric;
  std::map<std::string_view, std::vector<std::pair<int, const SummaryRow*>>> of;
  std::vector<std::string_view> order;
  std::uint32_t clients = 0;
  for (const auto& [label, metric] : classes)
    for (const SummaryRow* row : data.rows(metric)) {
      if (!row->client || row->round || !is_wanted(*row, request, false)) continue;
      clients = std::max(clients, *row->client + 1);
      auto& rows = of[row->configuration];
      if (rows.empty()) order.push_back(row->configuration);
      if (*row->client < kMaxMapClients) rows.emplace_back(label, row);
    }
  std::map<std::vector<double>, std::size_t> seen;
  std::vector<FigureData::Point> points;  // points of the configurations shown in one map
  std::size_t maps = 0;
  for (const auto configuration : order) {
    const auto& rows = of[configuration];
    std::vector<double> content;
    for (const auto& [label, row] : rows) content.push_back(row->mean);
    if (rows.empty()) continue;
    const auto& point = rows.front().second->point;
    const auto [place, is_new] = seen.try_emplace(content, maps);
    if (!is_new) {
      if (place->second < points.size())
        std::erase_if(points[place->second], [&](const auto& part) { return value_at(point, part.first) != part.second; });
      continue;
    }
    if (++maps > kMaxMaps) continue;
    points.push_back(point);
    Plot plot{.style = Plot::Style::map, .x_label = "client", .y_label = "class"};
    for (std::uint32_t client = 0; client < std::min(clients, kMaxMapClients); ++client)
      plot.x_names.push_back(std::to_string(client));
    const auto names = class_names(data, configuration);
    for (int label = 0; label <= classes.rbegin()->first; ++label) {
      const auto number = static_cast<std::size_t>(label);
      plot.y_names.push_back(number < names.size() ? names[number] : std::to_string(label));
    }
    PlotLine map;
    for (const auto& [label, row] : rows) {
      const std::string& name = plot.y_names[static_cast<std::size_t>(label)];
      map.points.push_back({.x = static_cast<double>(*row->client),
                            .y = static_cast<double>(label),
                            .text = (names.empty() ? "" : name + "\n") + point_text(*row, "", "")});
      map.values.push_back(row->mean);
    }
    plot.lines.push_back(std::move(map));
    figure.plots.push_back(std::move(plot));
  }
  for (std::size_t i = 0; i < figure.plots.size() && figure.plots.size() > 1; ++i)
    figure.plots[i].panel = name_of(data, points[i]);
  figure.caption = figure.plots.empty()
                       ? "Nothing to draw yet: no matching finished cell has published its partition."
                       : "Rows of each class held by each client, mean over seeds: the stronger the color, the more rows.";
  if (maps > 1 || seen.size() < order.size()) figure.caption += " Configurations with the same partition are drawn once.";
  if (maps > kMaxMaps) figure.caption += " Not drawn: " + counted(maps - kMaxMaps, "partition") + "; see summary.csv.";
  if (clients > kMaxMapClients)
    figure.caption += " Shows the first " + std::to_string(kMaxMapClients) + " of " + std::to_string(clients) + " clients.";
  return figure;
}

Figure draw_time(const FigureData& data, const FigureRequest& request) {
  Figure figure{
      .kind = request.kind, .title = request.title.empty() ? "Time and speed on this machine" : request.title, .caption = {}};
  std::size_t configurations = 0;
  for (const std::string metric : {"seconds", "evaluation_seconds", "examples_per_second"}) {
    struct Mean {
      const CellResult* first;
      double sum = 0;
      int n = 0;
    };
    std::map<std::string_view, std::size_t> places;
    std::vector<Mean> means;
    for (const auto& cell : data.results().cells) {
      const auto found = cell.numbers.find(metric);
      if (cell.status != "finished" || found == cell.numbers.end()) continue;
      const bool wanted = std::ranges::all_of(
          request.where, [&](const auto& part) { return same_value(cell.cell.value_of(part.first), part.second); });
      if (!wanted) continue;
      const auto [place, is_new] = places.try_emplace(cell.cell.configuration, means.size());
      if (is_new) means.push_back({&cell});
      means[place->second].sum += found->second;
      ++means[place->second].n;
    }
    if (means.empty()) continue;
    configurations = std::max(configurations, means.size());
    // Drops words that repeat the figure's title.
    std::string label = metric_label(metric);
    if (const auto at = label.find(", on this machine"); at != std::string::npos) label.erase(at, 17);
    Plot plot{.style = Plot::Style::bars, .panel = label};
    PlotLine bars;
    for (std::size_t i = 0; i < std::min(means.size(), kMaxBars); ++i) {
      FigureData::Point point = means[i].first->cell.point;
      std::erase_if(point, [](const auto& part) { return part.first == "seed"; });
      plot.y_names.push_back(name_of(data, point));
      const double mean = means[i].sum / means[i].n;
      bars.points.push_back({.x = mean,
                             .y = static_cast<double>(i),
                             .text = plot.y_names.back() + "\n" + metric_label(metric) + ": " + number_text(mean) + "\nmean of " +
                                     counted(static_cast<std::uint64_t>(means[i].n), "run")});
    }
    plot.lines.push_back(std::move(bars));
    figure.plots.push_back(std::move(plot));
  }
  figure.caption =
      figure.plots.empty()
          ? "Nothing to draw yet: no finished cell has recorded its time."
          : "Mean over a configuration's runs, from cells.csv. Run time includes training and averaging; evaluation is shown "
            "separately, and neither includes reading data, saving or drawing. Runs that shared cores with others were "
            "slower.";
  if (configurations > kMaxBars)
    figure.caption +=
        " Shows the first " + std::to_string(kMaxBars) + " of " + std::to_string(configurations) + " configurations.";
  return figure;
}

}  // namespace fedstride
