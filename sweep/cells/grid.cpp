#include "sweep/cells/grid.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "core/text.hpp"
#include "sim/settings/document.hpp"
#include "sim/settings/rules.hpp"
#include "sweep/cells/cell_keys.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxCells = 1'000'000;

// Walks the axes, varying the last one fastest.
class Walk {
 public:
  Walk(const Experiment& experiment, const std::function<void(const Cell&)>& visit)
      : experiment_(experiment), visit_(visit), excluded_(experiment.exclude.size()) {
    for (const KeyInfo& key : all_keys())
      if (key.parts.empty()) defaults_[key.name] = key.default_text;
  }

  void all() {
    Cell cell;
    cell.settings = experiment_.settings;
    from(0, cell, {});
    for (std::size_t i = 0; i < excluded_.size(); ++i)
      if (excluded_[i] == 0)
        throw usage_error("'" + experiment_.file + "': the exclusion of " + text(experiment_.exclude[i]) + " matches no cell");
  }

 private:
  using Keys = std::set<std::string, std::less<>>;

  void from(std::size_t index, const Cell& cell, const Keys& varied) {
    if (index == experiment_.axes.size()) {
      if (++reached_ > kMaxCells)
        throw usage_error("'" + experiment_.file + "' has more than " + std::to_string(kMaxCells) +
                          " cells; shorten its lists or split it into several files");
      if (!is_excluded(cell)) visit_(cell);
      return;
    }
    const Axis& axis = experiment_.axes[index];
    if (!meets(cell, axis.when)) return from(index + 1, cell, varied);
    for (const Axis::Value& value : axis.values) {
      Cell next = cell;
      Keys set = varied;
      for (const auto& [key, setting] : value.settings) {
        if (!set.insert(key).second)
          throw usage_error("'" + experiment_.file + "': in cell (" + point_text(cell) + ") two tables set " + key +
                            "; only one may apply to a cell");
        next.settings[key] = setting;
      }
      for (std::size_t i = 0; i < axis.keys.size(); ++i) next.point.emplace_back(axis.keys[i], value.labels[i]);
      from(index + 1, next, set);
    }
  }

  // Returns the cell's value of a key: swept, set or default.
  std::string value_of(const Cell& cell, const std::string& key) const {
    if (std::string label = cell.value_of(key); !label.empty()) return label;
    if (const auto setting = cell.settings.find(key); setting != cell.settings.end()) return value_text(setting->second.value);
    const auto known = defaults_.find(key);
    return experiment_.command == "run" && known != defaults_.end() ? known->second : "";
  }

  bool meets(const Cell& cell, const std::map<std::string, std::string>& when) const {
    return std::ranges::all_of(
        when, [&](const auto& condition) { return same_value(value_of(cell, condition.first), condition.second); });
  }

  bool is_excluded(const Cell& cell) {
    bool excluded = false;
    for (std::size_t i = 0; i < excluded_.size(); ++i) {
      if (!meets(cell, experiment_.exclude[i])) continue;
      ++excluded_[i];
      excluded = true;
    }
    return excluded;
  }

  static std::string text(const std::map<std::string, std::string>& where) {
    std::vector<std::string> parts;
    parts.reserve(where.size());
    for (const auto& [key, value] : where) parts.push_back(key + " " + value);
    return joined(parts);
  }

  const Experiment& experiment_;
  const std::function<void(const Cell&)>& visit_;
  std::size_t reached_ = 0;            ///< cells visited, including excluded ones
  std::vector<std::size_t> excluded_;  ///< number of cells that each exclusion has excluded
  std::map<std::string, std::string> defaults_;
};

}  // namespace

std::string Cell::value_of(std::string_view wanted) const {
  const auto found = std::ranges::find(point, wanted, &std::pair<std::string, std::string>::first);
  return found == point.end() ? "" : found->second;
}

namespace {

std::optional<double> as_number(std::string_view text) {
  double number = 0;
  if (!parse_number(text, number)) return std::nullopt;
  return number == 0 ? 0 : number;  // turns -0 into 0
}

}  // namespace

std::string canonical_value(std::string_view text) {
  const auto number = as_number(text);
  return number ? number_text(*number) : std::string(text);
}

bool same_value(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto left = as_number(a);
  return left && left == as_number(b);
}

std::string point_text(const Cell& cell) {
  if (cell.point.empty()) return "the only cell";
  std::vector<std::string> parts;
  for (const auto& [key, value] : cell.point) parts.push_back(key + " " + value);
  return one_line(joined(parts));
}

void for_each_cell(const Experiment& experiment, const std::function<void(const Cell&)>& visit) { Walk(experiment, visit).all(); }

std::size_t cell_count(const Experiment& experiment) {
  std::size_t count = 0;
  for_each_cell(experiment, [&](const Cell&) { ++count; });
  if (count == 0) throw usage_error("'" + experiment.file + "' has no cells; exclude removes all of them");
  return count;
}

namespace {

using SweptPoint = std::map<std::string, std::string>;

// A reason for refusing cells, and all cells refused for it; if the reason is a broken rule, also the values of the rule's
// subject.
struct Reason {
  std::string subject = {}, reason = {}, remedy = {};
  std::vector<std::string> values = {};
  std::set<SweptPoint> points = {};  ///< points of the refused cells, restricted to the swept keys that the rule relates
  std::vector<Cell> cells = {};

  std::string text() const {
    return values.empty() ? reason : subject + " is " + joined(values) + reason + (remedy.empty() ? "" : "; " + remedy);
  }
};

// Throws for settings that a run without user code refuses before it reads data.
void check_cell(const Experiment& experiment, const Cell& cell) {
  const Configuration configuration = resolve(cell.settings);
  check_rules(configuration, RuleScope::rows_here);
  if (!experiment.has_code || !is_trained_outside(configuration)) check_rules(configuration, RuleScope::no_code);
  check_choice(experiment, configuration);
}

void add_refusal(const Cell& cell, const Refusal& refusal, std::vector<Reason>& reasons) {
  auto known = std::ranges::find_if(
      reasons, [&](const Reason& one) { return one.subject == refusal.subject && one.reason == refusal.reason; });
  if (known == reasons.end())
    known = reasons.insert(known, {.subject = refusal.subject, .reason = refusal.reason, .remedy = refusal.remedy});
  if (known->remedy != refusal.remedy) known->remedy.clear();
  if (!refusal.value.empty() && std::ranges::find(known->values, refusal.value) == known->values.end())
    known->values.push_back(refusal.value);
  SweptPoint point;
  for (const std::string& key : refusal.keys)
    if (std::string label = cell.value_of(key); !label.empty()) point[key] = std::move(label);
  known->points.insert(std::move(point));
  known->cells.push_back(cell);
}

bool is_at(const Cell& cell, const SweptPoint& point) {
  return std::ranges::all_of(point, [&](const auto& one) { return cell.value_of(one.first) == one.second; });
}

std::string exclusion(const SweptPoint& point) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : point) parts.push_back(key + " = " + (as_number(value) ? value : toml_string(value)));
  return "{" + joined(parts) + "}";
}

// Returns exclusions that match refused cells but no valid cell.
std::vector<std::string> exclusions(const Reason& reason, const std::vector<Cell>& valid) {
  std::vector<std::string> good;
  for (const SweptPoint& point : reason.points)
    if (!point.empty() && std::ranges::none_of(valid, [&](const Cell& cell) { return is_at(cell, point); }))
      good.push_back(exclusion(point));
  return good;
}

// Returns advice on where to put a setting that only some cells may have: "; [when.partition.dirichlet] sets it for those cells
// alone".
std::string place_for(const NotOfChosenPart& error, const Experiment& experiment) {
  for (const Axis& axis : experiment.axes)
    for (std::size_t k = 0; k < axis.keys.size(); ++k)
      for (const Axis::Value& value : axis.values)
        if (axis.keys[k] == error.key && std::ranges::find(error.has_it, value.labels[k]) != error.has_it.end())
          return "; [when." + error.key + "." + value.labels[k] + "] sets it for those cells alone";
  return "";
}

}  // namespace

void check_cells(const Experiment& experiment) {
  if (experiment.command != "run") return;
  std::vector<Reason> reasons;
  std::string first;
  std::size_t refused = 0;
  std::vector<Cell> valid;
  const auto note = [&](const Cell& cell, const std::string& why, const Refusal& refusal) {
    if (refused++ == 0) first = "cell (" + point_text(cell) + "): " + why;
    add_refusal(cell, refusal, reasons);
  };
  for_each_cell(experiment, [&](const Cell& cell) {
    try {
      check_cell(experiment, cell);
      valid.push_back(cell);
    } catch (const RefusedByRule& error) {
      note(cell, error.what(), error.refusal);
    } catch (const NotOfChosenPart& error) {
      const std::string why = error.what() + place_for(error, experiment);
      note(cell, why, {.reason = why});
    } catch (const Error& error) {
      note(cell, error.what(), {.reason = error.what()});
    }
  });
  if (refused == 0) return;
  std::vector<RefusedGroup> groups;
  groups.reserve(reasons.size());
  for (Reason& reason : reasons) groups.push_back({reason.text(), exclusions(reason, valid), std::move(reason.cells)});
  throw RefusedCells(refused == 1 ? first
                                  : std::to_string(refused) + " of " + counted(refused + valid.size(), "cell") +
                                        " are refused; the first is " + first,
                     std::move(groups));
}

std::vector<Cell> expand(const Experiment& experiment, InputHashes& inputs, const std::filesystem::path& sweep_key) {
  std::vector<Cell> cells;
  cells.reserve(cell_count(experiment));
  CellKeys keys(experiment, inputs, sweep_key);
  for_each_cell(experiment, [&](const Cell& point) {
    Cell cell = point;
    try {
      keys.fill(cell);
    } catch (const Error& error) {
      throw Error(error.kind(), "cell (" + point_text(cell) + "): " + error.what());
    }
    cells.push_back(std::move(cell));
  });
  return cells;
}

std::vector<Cell> expand(const Experiment& experiment) {
  InputHashes inputs;
  check_cells(experiment);
  return expand(experiment, inputs);
}

}  // namespace fedstride
