#include "sweep/cells/grid.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "core/one_line.hpp"
#include "core/parse_number.hpp"
#include "core/text.hpp"
#include "run/document.hpp"
#include "sweep/cells/cell_keys.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxCells = 1'000'000;

// Walks the axes, the last one fastest.
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
          throw usage_error("'" + experiment_.file + "': cell (" + point_text(cell) + ") has its " + key +
                            " set by two tables; one that applies to it is valid");
        next.settings[key] = setting;
      }
      for (std::size_t i = 0; i < axis.keys.size(); ++i) next.point.emplace_back(axis.keys[i], value.labels[i]);
      from(index + 1, next, set);
    }
  }

  // The cell's value of a key: as swept, as set, or by default.
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
  std::size_t reached_ = 0;            ///< excluded ones too
  std::vector<std::size_t> excluded_;  ///< cells that each exclusion has excluded
  std::map<std::string, std::string> defaults_;
};

Error in_cell(const Cell& cell, const Error& error) { return {error.kind(), "cell (" + point_text(cell) + "): " + error.what()}; }

}  // namespace

std::string Cell::value_of(std::string_view wanted) const {
  const auto found = std::ranges::find(point, wanted, &std::pair<std::string, std::string>::first);
  return found == point.end() ? "" : found->second;
}

namespace {

std::optional<double> as_number(std::string_view text) {
  double number = 0;
  if (!parse_number(text, number)) return std::nullopt;
  return number == 0 ? 0 : number;  // one zero, not two
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
  if (count == 0) throw usage_error("'" + experiment.file + "' has no cell left: everything is excluded");
  return count;
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
      throw in_cell(cell, error);
    }
    cells.push_back(std::move(cell));
  });
  return cells;
}

std::vector<Cell> expand(const Experiment& experiment) {
  InputHashes inputs;
  return expand(experiment, inputs);
}

}  // namespace fedstride
