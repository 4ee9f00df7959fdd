#include <algorithm>
#include <map>
#include <set>

#include "core/text.hpp"
#include "sweep/report/html.hpp"
#include "sweep/report/sections.hpp"
#include "sweep/results/settings_of_cells.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxListedValues = 12;
constexpr std::size_t kLongSetting = 36;

std::string pair_html(const std::string& name, const std::string& value) {
  const bool is_long = name.size() + value.size() > kLongSetting;
  return "<div" + std::string(is_long ? " class=\"long\"" : "") + "><dt>" + escaped(name) + "</dt><dd>" + escaped(value) +
         "</dd></div>\n";
}

std::string listed(const std::vector<std::string>& values) {
  const std::vector<std::string> some(values.begin(),
                                      values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), kMaxListedValues)));
  return joined(some) +
         (values.size() > kMaxListedValues ? " and " + std::to_string(values.size() - kMaxListedValues) + " more" : "");
}

// Returns a table of the settings that differ between runs that are named by folder (axis "run").
std::string differing_settings(const SweepResults& sweep) {
  const auto& axes = sweep.experiment.axes;
  if (std::ranges::none_of(axes, [](const Axis& axis) { return !axis.keys.empty() && axis.keys.front() == "run"; })) return {};
  std::vector<std::map<std::string, std::string>> all;
  std::map<std::string, std::set<std::string>> values;
  for (const auto& cell : sweep.cells) {
    all.push_back(resolved_settings(cell.cell));
    for (const auto& [key, value] : all.back()) values[key];
  }
  for (auto& [key, seen] : values)
    for (const auto& own : all) seen.insert(own.contains(key) ? own.at(key) : "");
  std::erase_if(values, [](const auto& key) { return key.second.size() < 2; });
  if (values.empty()) return {};
  std::string html = "<h2>Settings that differ</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>run</th>";
  for (const auto& [key, seen] : values) html += "<th>" + escaped(key) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    html += "<tr><td>" + escaped(sweep.cells[i].cell.value_of("run")) + "</td>";
    for (const auto& [key, seen] : values) html += "<td>" + escaped(all[i].contains(key) ? all[i].at(key) : "") + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string settings(const SweepResults& sweep) {
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, std::set<std::string>> seen;
  for (const auto& cell : sweep.cells)
    for (const auto& [key, value] : cell.cell.point)
      if (seen[key].insert(value).second) values[key].push_back(value);
  std::string varied, fixed, defaults;
  for (const auto& key : swept_keys(sweep))
    if (!values[key].empty()) varied += pair_html(key, listed(values[key]));
  for (const auto& [key, value, is_default] : fixed_settings(sweep))
    if (!seen.contains(key)) (is_default ? defaults : fixed) += pair_html(key, value);
  const auto list = [](const std::string& pairs) { return "<dl class=\"settings\">\n" + pairs + "</dl>\n"; };
  std::string html;
  if (!varied.empty()) html += "<h3>Varied</h3>\n" + list(varied);
  if (!fixed.empty()) html += "<h3>The same in all cells, but not the defaults</h3>\n" + list(fixed);
  if (!defaults.empty()) html += folded("Defaults", list(defaults));
  return (html.empty() ? "" : "<h2>Settings</h2>\n" + html) + differing_settings(sweep);
}

}  // namespace fedstride
