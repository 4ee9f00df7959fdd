#include "sweep/file/experiment.hpp"

#include <algorithm>
#include <filesystem>

#include "core/files.hpp"
#include "core/text.hpp"
#include "sweep/file/experiment_draft.hpp"

namespace fedstride {
namespace {

std::string name_of(const std::string& path) {
  const std::filesystem::path file = std::filesystem::absolute(path).lexically_normal();
  const std::string folder = file.parent_path().filename().string();
  return file.filename() == "experiment.toml" && !folder.empty() ? folder : file.stem().string();
}

// Reads the strings in [experiment].
void read_texts(const Document& document, Experiment& experiment) {
  const DocumentNode* node = find_entry(*document.root.table(), "experiment");
  experiment.title = experiment.name;
  if (node == nullptr) return;
  if (node->table() == nullptr) throw document.wrong(*node, "experiment must be a table: [experiment]");
  require_known(document, *node->table(), "[experiment]", {"title", "source", "claim", "note", "command"});
  const auto take = [&](const char* key, std::string& text) {
    const DocumentNode* entry = find_entry(*node->table(), key);
    if (entry == nullptr) return;
    if (entry->text() == nullptr || trimmed(*entry->text()).empty())
      throw document.wrong(*entry, std::string(key) + " of [experiment] must be a string");
    text = *entry->text();
  };
  if (find_entry(*node->table(), "title") == nullptr)
    throw document.wrong(*node, "[experiment] has no title; add title = \"...\"");
  take("title", experiment.title);
  take("source", experiment.source);
  take("claim", experiment.claim);
  take("note", experiment.note);
  take("command", experiment.command);
  const DocumentNode* command = find_entry(*node->table(), "command");
  if (command == nullptr) return;
  constexpr std::string_view valid = "abcdefghijklmnopqrstuvwxyz0123456789- ";
  if (experiment.command.find_first_not_of(valid) != std::string::npos || experiment.command.starts_with("-") ||
      experiment.command.starts_with("sweep") || experiment.command.starts_with("report"))
    throw document.wrong(*command,
                         "command '" + experiment.command +
                             "' is not valid; it must be \"run\" or a command with --json, such as \"privacy epsilon\"");
}

// Reads [sweep] exclude. Drops exclusions of values that the scale or the command line replaced.
void read_exclusions(const Document& document, const ExperimentDraft& draft, Experiment& experiment) {
  if (draft.exclude == nullptr) return;
  if (draft.exclude->list() == nullptr)
    throw document.wrong(*draft.exclude, "exclude must be a list of tables: exclude = [{ optimizer = \"sgd\" }]");
  const auto axes = draft.axis_keys();
  const auto has = [&](const std::string& key, const std::string& value) {
    const auto plain = experiment.settings.find(key);
    if (plain != experiment.settings.end()) return same_value(value_text(plain->second.value), value);
    return std::ranges::any_of(experiment.axes, [&](const Axis& axis) {
      const auto found = std::ranges::find(axis.keys, key);
      return found != axis.keys.end() && std::ranges::any_of(axis.values, [&](const Axis::Value& one) {
               return same_value(one.labels[static_cast<std::size_t>(found - axis.keys.begin())], value);
             });
    });
  };
  for (const DocumentNode& node : *draft.exclude->list()) {
    const auto where = read_where(document, node, "an entry of exclude");
    if (where.empty()) throw document.wrong(node, "exclude lists {}, which would exclude every cell; name at least one key");
    bool possible = true;
    bool overridden = false;
    for (const auto& [key, value] : where) {
      overridden = overridden || draft.overridden.contains(key);
      possible = possible && has(key, value);
      if (axes.contains(key) || draft.overridden.contains(key)) continue;
      throw document.wrong(node, "exclude names " + key + ", which is not swept; swept keys: " +
                                     joined(std::vector<std::string>(axes.begin(), axes.end())));
    }
    if (possible)
      experiment.exclude.push_back(where);
    else if (!overridden)
      throw document.wrong(node, "the exclusion of " + point_text(Cell{.point = {where.begin(), where.end()}}) +
                                     " matches no cell; name values from the lists");
  }
}

void check_tuning(const Document& document, const Experiment& experiment) {
  const Tuning& tuning = experiment.tuning;
  if (tuning.keys.empty() || tuning.on != "validation" || experiment.command != "run") return;
  const std::string key = "validation-fraction";
  bool chosen = false;
  bool without = false;
  const auto look = [&](const Settings& settings) {
    const auto found = settings.find(key);
    if (found == settings.end()) return;
    (same_value(value_text(found->second.value), "0") ? without : chosen) = true;
  };
  look(experiment.settings);
  for (const Axis& axis : experiment.axes)
    for (const Axis::Value& value : axis.values) look(value.settings);
  if (!chosen || without)
    throw document.wrong(
        *find_entry(*document.root.table(), "tune"),
        "[tune] chooses on the validation split, but validation-fraction is 0; set it, or set on = \"test\" and why");
}

// Converts flags, which sweep.json stores as text, back to booleans.
Settings with_flags(Settings settings) {
  for (const KeyInfo& key : all_keys()) {
    const auto found = key.is_flag ? settings.find(key.name) : settings.end();
    if (found == settings.end()) continue;
    if (const auto* text = std::get_if<std::string>(&found->second.value)) found->second.value = *text == "true";
  }
  return settings;
}

}  // namespace

Experiment parse_experiment(const std::string& text, const std::string& path, const std::string& scale, const Settings& fixed) {
  if (scale != "quick" && scale != "full")
    throw usage_error(unknown_name("scale", scale, std::vector<std::string>{"quick", "full"}));
  const Document document = parse_document(text, path);
  Experiment experiment;
  experiment.name = name_of(path);
  experiment.file = path;
  experiment.text = text;
  experiment.scale = scale;
  read_texts(document, experiment);
  const Settings given = with_flags(fixed);
  const ExperimentDraft draft = draft_experiment(document, scale, given, experiment.command == "run");
  for (const auto& [key, node] : draft.plain) experiment.settings[key] = node.setting();
  for (const auto& [key, setting] : given) experiment.settings[key] = setting;
  experiment.axes = build_axes(document, draft);
  read_exclusions(document, draft, experiment);
  read_target(document, experiment.target, experiment.by);
  experiment.tuning = read_tuning(document, draft);
  experiment.table = read_table(document, draft);
  experiment.expectations = read_expectations(document, draft);
  experiment.figures = read_figures(document, draft);
  experiment.replaced = draft.replaced;
  check_tuning(document, experiment);
  return experiment;
}

Experiment read_experiment(const std::string& path, const std::string& scale, const Settings& fixed) {
  return parse_experiment(read_text_file(path, std::uint64_t{1} << 20), path, scale, fixed);
}

}  // namespace fedstride
