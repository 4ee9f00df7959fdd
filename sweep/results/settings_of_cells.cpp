#include "sweep/results/settings_of_cells.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "sweep/results/summary.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kExecutionKeys[] = {"out", "quiet", "threads", "data", "data-dir"};

using TextSettings = std::map<std::string, std::string>;

// Returns an axis with the key's values in the cells, in order of appearance.
Axis axis_of(const std::string& key, const std::vector<CellResult>& cells) {
  Axis axis{.keys = {key}};
  std::set<std::string> seen;
  for (const auto& cell : cells)
    if (const std::string value = cell.cell.value_of(key); !value.empty() && seen.insert(value).second)
      axis.values.push_back({.settings = {}, .labels = {value}});
  return axis;
}

// Returns the folders' names, or full paths for folders that share a name.
std::vector<std::string> names_of(const std::vector<SweepResults>& runs) {
  std::map<std::string, int> counts;
  for (const auto& run : runs) ++counts[run.experiment.name];
  std::vector<std::string> names;
  for (const auto& run : runs) {
    const std::string& name = run.experiment.name;
    names.push_back(counts[name] == 1 ? name : run.folder.string());
  }
  // Numbers the names of a folder that is given more than once.
  std::map<std::string, int> used;
  for (auto& name : names)
    if (const int times = ++used[name]; times > 1) name += " (" + std::to_string(times) + ")";
  return names;
}

// Returns the default of a chosen part's setting.
std::optional<std::string> default_of_part(const TextSettings& settings, const std::string& key) {
  const Configuration defaults;
  for (const ChosenPart* chosen : chosen_parts(defaults)) {
    const auto name = settings.find(std::string(chosen->family().key()));
    if (name == settings.end()) continue;
    ChosenPart part = *chosen;
    part.choose(name->second);
    if (const SettingInfo* info = part.part().find(key); info != nullptr) return value_text(part.part().get(*info));
  }
  return {};
}

}  // namespace

std::map<std::string, std::string> resolved_settings(const Cell& cell) {
  TextSettings texts;
  try {
    for (const auto& [key, setting] : parse_settings(write_settings(resolve_unchecked(cell.settings), {}), "settings"))
      if (std::ranges::find(kExecutionKeys, key) == std::end(kExecutionKeys)) texts[key] = value_text(setting.value);
  } catch (const Error&) {  // settings from another version
    texts.clear();
  }
  return texts;
}

std::vector<FixedSetting> fixed_settings(const SweepResults& results) {
  TextSettings shared, first;
  if (results.experiment.command != "run") {
    for (const auto& [key, setting] : results.experiment.settings) shared[key] = value_text(setting.value);
  } else {
    std::set<std::string_view> seen;
    for (const auto& cell : results.cells) {
      if (!seen.insert(cell.cell.configuration).second) continue;
      const TextSettings own = resolved_settings(cell.cell);
      if (seen.size() == 1) shared = first = own;
      std::erase_if(shared, [&](const auto& setting) {
        const auto found = own.find(setting.first);
        return found == own.end() || found->second != setting.second;
      });
      if (seen.size() == kMaxCellsResolved) break;
    }
    // The seed may vary within a configuration.
    std::set<std::string> seeds;
    for (const auto& cell : results.cells) seeds.insert(cell.cell.value_of("seed"));
    if (seeds.size() > 1) shared.erase("seed");
  }
  const TextSettings defaults = results.experiment.command == "run" ? resolved_settings({}) : TextSettings{};
  std::vector<FixedSetting> fixed;
  for (const auto& [key, value] : shared) {
    if (value.empty()) continue;
    auto standard = default_of_part(first, key);
    if (const auto known = defaults.find(key); !standard && known != defaults.end()) standard = known->second;
    fixed.push_back({key, value, standard == value});
  }
  return fixed;
}

std::string settings_of_methods(const SweepResults& results, const MethodTable& table) {
  if (results.experiment.command != "run") return {};
  std::vector<const Cell*> cells;
  for (const auto& column : table.seeds)
    for (const Seeds& seeds : column)
      if (!seeds.empty() && cells.size() < kMaxCellsResolved) cells.push_back(&seeds.front()->cell);
  std::vector<TextSettings> settings;
  std::set<std::string> varying;
  for (const Cell* cell : cells) {
    settings.push_back(resolved_settings(*cell));
    for (const auto& [key, value] : settings.back()) varying.insert(key);
  }
  const auto value_of = [&](std::size_t i, const std::string& key) {
    const auto found = settings[i].find(key);
    return found == settings[i].end() ? std::string() : found->second;
  };
  const std::vector<std::string> swept = swept_keys(results);
  std::erase_if(varying, [&](const std::string& key) {
    if (std::ranges::find(swept, key) != swept.end() || key == "seed") return true;
    for (std::size_t i = 1; i < cells.size(); ++i)
      if (value_of(i, key) != value_of(0, key)) return false;
    return true;
  });
  const TextSettings defaults = resolved_settings({});
  const auto is_default = [&](const std::string& key, const std::string& text) {
    const auto found = defaults.find(key);
    return found != defaults.end() && found->second == text;
  };
  std::vector<std::string> axes = table.method_keys;
  axes.insert(axes.end(), table.condition_keys.begin(), table.condition_keys.end());
  std::vector<std::string> texts;
  for (const std::string& axis : axes) {
    // Finds the settings that are functions of this axis alone.
    std::vector<std::string> values;
    std::map<std::string, TextSettings> of_value;
    std::set<std::string> others;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string value = cells[i]->value_of(axis);
      const auto [place, is_new] = of_value.try_emplace(value);
      if (is_new) values.push_back(value);
      for (const std::string& key : varying) {
        const auto [kept, first] = place->second.try_emplace(key, value_of(i, key));
        if (!first && kept->second != value_of(i, key)) others.insert(key);
      }
    }
    std::erase_if(varying, [&](const std::string& key) { return !others.contains(key); });
    for (const std::string& value : values) {
      std::vector<std::string> own;
      for (const auto& [key, text] : of_value[value])
        if (!others.contains(key) && !text.empty() && !is_default(key, text)) own.push_back(key + " " + text);
      if (!own.empty() && !value.empty()) texts.push_back(value + ": " + joined(own));
    }
  }
  return texts.empty() ? "" : "Settings: " + joined(texts, "; ") + ".";
}

bool is_one_run(const SweepResults& results) {
  return results.cells.size() == 1 && results.experiment.axes.empty() && !results.folder.empty() &&
         results.experiment.file == (results.folder / "config.toml").string();
}

SweepResults joined_runs(const std::vector<SweepResults>& runs) {
  SweepResults all;
  all.experiment.name = "runs";
  all.experiment.title = std::to_string(runs.size()) + " runs";
  all.experiment.scale = "full";
  std::vector<TextSettings> settings;
  std::set<std::string> keys, differing;
  for (const auto& run : runs) {
    all.cells.push_back(run.cells.front());
    settings.push_back(resolved_settings(all.cells.back().cell));
    for (const auto& [key, value] : settings.back()) keys.insert(key);
    all.rounds_left_out = all.rounds_left_out || run.rounds_left_out;
    if (!run.left_out.empty()) all.left_out += (all.left_out.empty() ? "" : "; ") + run.experiment.name + ": " + run.left_out;
  }
  const auto value = [&](std::size_t run, const std::string& key) {
    const auto found = settings[run].find(key);
    return found == settings[run].end() ? "" : found->second;
  };
  for (const auto& key : keys)
    for (std::size_t i = 1; i < runs.size(); ++i)
      if (value(i, key) != value(0, key)) differing.insert(key);
  // If the parts themselves differ, their default settings add no information.
  std::erase_if(differing, [&](const std::string& key) {
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (settings[i].contains(key) && default_of_part(settings[i], key) != value(i, key)) return false;
    return true;
  });
  const bool has_seeds = differing.erase("seed") > 0;
  // Runs with the same settings and seed cannot be averaged.
  std::set<std::vector<std::string>> points;
  bool by_settings = differing.size() <= kMaxKeysOfRuns;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::string> point{value(i, "seed")};
    for (const auto& key : differing) point.push_back(value(i, key));
    by_settings = points.insert(point).second && by_settings;
  }
  const auto names = names_of(runs);
  std::vector<std::string> axes =
      by_settings ? std::vector<std::string>(differing.begin(), differing.end()) : std::vector<std::string>{"run"};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Cell& cell = all.cells[i].cell;
    cell.configuration.clear();
    for (const auto& key : axes) {
      const std::string text = by_settings ? value(i, key) : names[i];
      if (text.empty()) continue;
      cell.point.emplace_back(key, text);
      cell.configuration += key + '\0' + text + '\0';
    }
    if (has_seeds && by_settings) cell.point.emplace_back("seed", value(i, "seed"));
  }
  if (has_seeds && by_settings) axes.emplace_back("seed");
  for (const auto& key : axes) all.experiment.axes.push_back(axis_of(key, all.cells));
  all.summary = summarize(all.experiment, all.cells);
  return all;
}

}  // namespace fedstride
