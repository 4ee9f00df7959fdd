#include "report/layout.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "report/html.hpp"

namespace fedstride {
namespace {

constexpr double kFigureWidth = 760;
constexpr std::size_t kMaxLegendName = 60;
constexpr double kMaxNamesWidth = 390;

bool is_table(const Plot& plot) { return plot.style == Plot::Style::bars || plot.style == Plot::Style::map; }

// A line that has other names in other panels ("sgd, learning-rate 0.01") goes by what they share.
std::vector<LegendEntry> legend_of(std::span<const Plot> panels) {
  std::vector<LegendEntry> entries;
  std::map<std::size_t, std::size_t> places;
  for (const auto& plot : panels)
    for (const auto& line : plot.lines) {
      if (is_table(plot) || line.name.empty()) continue;
      const auto [place, is_new] = places.try_emplace(line.look, entries.size());
      if (is_new)
        entries.push_back({line.name, line.look, line.is_reference});
      else if (LegendEntry& known = entries[place->second]; known.name != line.name && !line.thing.empty())
        known.name = line.thing;
    }
  for (auto& entry : entries) entry.name = shortened(entry.name, kMaxLegendName);
  return entries;
}

std::size_t longest_of(const std::vector<std::string>& names) {
  std::size_t longest = 0;
  for (const auto& name : names) longest = std::max(longest, name.size());
  return longest;
}

bool all_have(std::span<const Plot> panels, auto member) {
  return std::ranges::all_of(panels, [&](const Plot& plot) { return plot.*member == panels.front().*member; });
}

// The end of a long name is kept: there stand the keys that vary fastest.
std::string end_of_name(const std::string& name, std::size_t letters) {
  if (name.size() <= letters) return name;
  std::size_t from = name.size() - letters + 1;
  while (from < name.size() && (static_cast<unsigned char>(name[from]) & 0xc0) == 0x80) ++from;
  return "…" + name.substr(from);
}

// The plotting area's height.
double height_of(const Plot& plot, std::size_t columns) {
  const auto rows = static_cast<double>(std::clamp<std::size_t>(plot.y_names.size(), 3, 40));
  if (plot.style == Plot::Style::bars) return 22 * rows;
  if (plot.style == Plot::Style::map) return (columns == 1 ? 24 : 15) * rows;
  return columns == 1 ? 300 : columns == 2 ? 200 : 150;
}

}  // namespace

Layout layout_of(std::span<const Plot> panels) {
  Layout layout{.width = kFigureWidth, .titles = {}};
  const Plot& first = panels.front();
  const std::size_t count = panels.size();
  // Bars of different quantities stand one below the other, each under its own title.
  layout.columns = count == 1 || first.style == Plot::Style::bars ? 1 : count <= 4 ? 2 : 3;
  layout.shares_x = first.style != Plot::Style::bars && all_have(panels, &Plot::x_label);
  layout.shares_y = !is_table(first) || all_have(panels, &Plot::y_names);
  const double names = std::min(kMaxNamesWidth, kLetter * static_cast<double>(longest_of(first.y_names)) + 24);
  const double left = is_table(first) ? names + (first.y_label.empty() ? 0 : 24) : 78;
  for (const auto& name : first.y_names)
    layout.row_names.push_back(end_of_name(name, static_cast<std::size_t>((names - 24) / kLetter)));
  const double inner_left = layout.shares_y ? 20 : left;
  const auto columns = static_cast<double>(layout.columns);
  const double width = (kFigureWidth - left - (columns - 1) * inner_left - 14 * columns) / columns;
  const bool is_titled = std::ranges::any_of(panels, [](const Plot& plot) { return !plot.panel.empty(); });
  // Long names of categories slant down.
  const bool slants = first.x_names.size() > 6 && longest_of(first.x_names) > 4;
  const double tics = slants ? 34 + 3 * static_cast<double>(std::min<std::size_t>(longest_of(first.x_names), 24)) : 28;
  double top = is_titled ? 26 : 12;
  for (std::size_t begin = 0; begin < count; begin += layout.columns) {
    const std::size_t end = std::min(begin + layout.columns, count);
    double height = 0;
    bool below = false;
    for (std::size_t i = begin; i < end; ++i) height = std::max(height, height_of(panels[i], layout.columns));
    for (std::size_t i = begin; i < end; ++i) {
      const double from = left + static_cast<double>(i - begin) * (width + 14 + inner_left);
      layout.panels.push_back({from, top, from + width, top + height});
      const auto letters = static_cast<std::size_t>(width / kLetter + 1);
      layout.titles.push_back(shortened(panels[i].panel, letters));
      below = below || !layout.shares_x || i + layout.columns >= count;
    }
    top += height + (below ? tics : 8) + (end < count && is_titled ? 28 : 0);
  }
  layout.legend = legend_of(panels);
  top += first.x_label.empty() ? 4 : 28;
  layout.legend_top = top + 4;
  std::size_t longest = 0;
  for (const auto& entry : layout.legend) longest = std::max(longest, entry.name.size());
  const double entry = kSwatch + 12 + kLetter * static_cast<double>(longest);
  layout.legend_columns = std::max<std::size_t>(1, static_cast<std::size_t>((kFigureWidth - 20) / entry));
  const std::size_t rows = (layout.legend.size() + layout.legend_columns - 1) / layout.legend_columns;
  layout.height = std::ceil(top + (rows > 0 ? 12 + kLegendRow * static_cast<double>(rows) : 0));
  return layout;
}

}  // namespace fedstride
