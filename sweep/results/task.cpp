#include "sweep/results/task.hpp"

#include <algorithm>
#include <set>

#include "core/client_report.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "data/datasets.hpp"
#include "data/official.hpp"
#include "dp/ledger/statement.hpp"
#include "sim/run/replay.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/results/accounting.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;
using Texts = std::map<std::string, std::string>;

constexpr std::uint64_t kMaxSummaryBytes = std::uint64_t{64} << 20;
constexpr std::string_view kExecutionKeys[] = {"out", "quiet", "threads", "data", "data-dir"};

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

Texts texts_at(const Json& json, const char* key) {
  Texts texts;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return texts;
  for (const auto& [name, value] : found->items()) texts[name] = value.is_string() ? value.get<std::string>() : dump_json(value);
  return texts;
}

struct Folder {
  fs::path path;
  bool is_run = false;
  Experiment experiment = {};
  std::vector<Cell> cells = {};
  Texts machine = {};
  InputHashes inputs = {};

  fs::path of(const Cell& cell) const { return is_run ? path : path / "cells" / cell.key; }
};

// Reads the files that sweep() wrote, which hold the experiment as run and the machine.
void read_sweep(Folder& folder) {
  constexpr std::uint64_t kMaxSweepFileBytes = std::uint64_t{1} << 24;
  const fs::path path = folder.path / "sweep.json";
  const Json json = parse_json(read_file(path, kMaxSweepFileBytes));
  const std::string scale = json.is_object() ? text_at(json, "scale") : "";
  if (scale != "full" && scale != "quick")
    throw failure("'" + path.string() + "' is damaged: its scale must be \"full\" or \"quick\"");
  Settings fixed;
  for (const auto& [key, value] : texts_at(json, "fixed")) fixed[key] = {value, true};
  folder.experiment = read_experiment((folder.path / "experiment.toml").string(), scale, fixed);
  if (const std::string name = text_at(json, "experiment"); !name.empty()) folder.experiment.name = name;
  if (const std::string file = text_at(json, "file"); !file.empty()) folder.experiment.file = file;
  folder.machine = texts_at(json, "machine");
  folder.inputs = texts_at(json, "inputs");
  try {
    folder.cells = expand(folder.experiment, folder.inputs);
  } catch (const Error&) {  // Python knows its functions as values of settings
    if (folder.experiment.text.find("\ncode = ") == std::string::npos) throw;
    throw usage_error("'" + folder.path.string() + "' has cells of own Python code, which this program does not read; " +
                      "fedstride.report and fedstride.Sweep do, in Python");
  }
}

// Reads the folder of one run as a sweep of one cell.
void read_run(Folder& folder) {
  folder.is_run = true;
  Experiment& experiment = folder.experiment;
  const fs::path file = folder.path / "config.toml";
  const fs::path full = fs::absolute(folder.path).lexically_normal();
  experiment.name = (full.has_filename() ? full : full.parent_path()).filename().string();
  experiment.file = file.string();
  experiment.text = read_file(file, std::uint64_t{1} << 20);
  experiment.scale = "full";
  experiment.title = experiment.name;
  experiment.note = replay_text(folder.path);
  experiment.settings = parse_settings(experiment.text, experiment.file);
  folder.cells = {{.settings = experiment.settings,
                   .key = experiment.name,
                   .configuration = experiment.name,
                   .command = "fedstride run --config " + file.string()}};
}

Json json_of(const ResultQuantity& quantity) {
  Json json{{"metric", quantity.metric},
            {"where", quantity.where},
            {"pick", quantity.pick},
            {"pick_where", quantity.pick_where},
            {"round", quantity.round ? Json(*quantity.round) : Json()},
            {"client", quantity.client ? Json(*quantity.client) : Json()},
            {"minus", Json::array()},
            {"over", Json::array()}};
  for (const auto& minus : quantity.minus) json["minus"].push_back(json_of(minus));
  for (const auto& over : quantity.over) json["over"].push_back(json_of(over));
  return json;
}

Json json_of(const Expectation& one) {
  return {{"claim", one.claim},       {"value", json_of(one.value)},
          {"relation", one.relation}, {"other", one.other ? json_of(*one.other) : Json(one.number.value_or(0))},
          {"within", one.within},     {"margin", one.margin},
          {"scale", one.scale},       {"reason", one.reason}};
}

Json json_of(const FigureRequest& one) {
  const auto flag = [](const std::optional<bool>& value) { return value ? Json(*value) : Json(); };
  return {{"kind", one.kind},
          {"title", one.title},
          {"x", one.x},
          {"y", one.y},
          {"lines", one.lines},
          {"where", one.where},
          {"ranks", one.ranks},
          {"log_x", flag(one.log_x)},
          {"log_y", flag(one.log_y)},
          {"by", one.by ? Json(choice_name(*one.by)) : Json()}};
}

// True for settings of training and aggregation; those of data, clients, model, privacy, attack, cohort and rounds are conditions
// under which methods are compared.
bool is_of_method(const std::string& key) {
  const KeyInfo* info = find_key(key);
  if (info == nullptr) return true;  // the key "run", whose values are folders
  const bool trains = info->question == Question::training || info->question == Question::federation;
  return trains && info->group != "attack" && info->group != "cohort" && key != "rounds";
}

Json json_of(const Experiment& experiment) {
  Json axes = Json::array(), expectations = Json::array(), figures = Json::array();
  std::set<std::string> conditions;
  for (const Axis& axis : experiment.axes) {
    std::set<std::string> keys;
    Json labels = Json::array();
    for (const Axis::Value& value : axis.values) {
      labels.push_back(value.labels);
      for (const auto& [key, setting] : value.settings) keys.insert(key);
    }
    for (const std::string& key : keys)
      if (!is_of_method(key)) conditions.insert(key);
    const std::vector<std::string> settings(keys.begin(), keys.end());
    axes.push_back({{"keys", axis.keys}, {"labels", std::move(labels)}, {"settings", settings}, {"when", axis.when}});
  }
  for (const Expectation& one : experiment.expectations) expectations.push_back(json_of(one));
  for (const FigureRequest& one : experiment.figures) figures.push_back(json_of(one));
  Texts settings;
  for (const auto& [key, setting] : experiment.settings) settings[key] = value_text(setting.value);
  const Tuning& tuning = experiment.tuning;
  const Target& target = experiment.target;
  return {{"name", experiment.name},
          {"file", experiment.file},
          {"scale", experiment.scale},
          {"command", experiment.command},
          {"title", experiment.title},
          {"source", experiment.source},
          {"claim", experiment.claim},
          {"note", experiment.note},
          {"settings", settings},
          {"axes", std::move(axes)},
          {"conditions", std::vector<std::string>(conditions.begin(), conditions.end())},
          {"tuning", {{"keys", tuning.keys}, {"on", tuning.on}, {"metric", tuning.metric}, {"why", tuning.why}}},
          {"table", {{"rows", experiment.table.rows}, {"columns", experiment.table.columns}}},
          {"target", target.is_declared() ? Json{{"metric", target.metric}, {"at", target.at}} : Json()},
          {"by", choice_name(experiment.by)},
          {"expectations", std::move(expectations)},
          {"figures", std::move(figures)}};
}

Texts resolved_settings(const Cell& cell) {
  Texts texts;
  try {
    Configuration configuration = resolve_unchecked(cell.settings);
    if (is_there(configuration.init))  // equal weights in other places are no other setting
      configuration.init = "sha256-" + file_sha256(configuration.init).substr(0, 16);
    for (const auto& [key, setting] : parse_settings(write_settings(configuration, {}), "settings"))
      if (std::ranges::find(kExecutionKeys, key) == std::end(kExecutionKeys)) texts[key] = value_text(setting.value);
  } catch (const Error&) {  // settings from another version
    texts.clear();
  }
  return texts;
}

// Returns the defaults of the parts that these settings choose, for the settings' keys.
Texts defaults_of_parts(const Texts& settings) {
  Texts defaults;
  const Configuration configuration;
  for (const ChosenPart* chosen : chosen_parts(configuration)) {
    const auto name = settings.find(std::string(chosen->family().key()));
    if (name == settings.end()) continue;
    ChosenPart part = *chosen;
    part.choose(name->second);
    for (const auto& [key, value] : settings)
      if (const SettingInfo* info = part.part().find(key); info != nullptr)
        defaults.try_emplace(key, value_text(part.part().get(*info)));
  }
  return defaults;
}

std::string data_status(const std::string& dataset, const std::string& data_dir) {
  const DatasetSource& source = dataset_source(dataset);
  if (source.place.file.empty() && !source.read) return "made by the program";
  if (!source.is_published) return "own files";
  const OfficialSet* set = official_set(dataset);
  return set != nullptr && !is_official(*set, dataset_folder(source, {.data_dir = data_dir})) ? "not its authors' files"
                                                                                              : "published";
}

Json data_of(const Folder& folder) {
  Texts folders;  // from a data set's name to its folder
  for (const Cell& cell : folder.cells) {
    const auto settings = resolved_settings(cell);
    if (const auto dataset = settings.find("dataset"); dataset != settings.end())
      folders[dataset->second] = setting_text(cell.settings, "data-dir");
  }
  Json data = Json::array();
  for (const auto& [name, data_dir] : folders) data.push_back({{"dataset", name}, {"status", data_status(name, data_dir)}});
  return data;
}

// Returns epsilon by every accountant, by round, of a finished run with a ledger.
Json accounts_of(const fs::path& run) {
  Json accounts = Json::object();
  if (!is_there(run / "summary.json") || !is_there(run / "ledger.jsonl")) return accounts;
  const Json summary = parse_json(read_file(run / "summary.json", kMaxSummaryBytes));
  if (!summary.is_object() || summary.value("finished", Json(false)) != Json(true)) return accounts;
  const Json head = summary.value("ledger_head", Json()), lines = summary.value("ledger_lines", Json());
  const Json rounds = summary.value("rounds", Json());
  if (!head.is_string() || !lines.is_number_unsigned() || !rounds.is_number_unsigned()) return accounts;
  const LedgerMark mark{.head = head.text(), .lines = lines.get<std::uint64_t>()};
  const bool secret = summary.value("randomness", Json()) == Json("secret");
  for (const auto& [round, epsilons] : account(run, mark, rounds.get<std::uint32_t>(), secret))
    accounts[std::to_string(round)] = epsilons;
  return accounts;
}

// The statements on the model of a finished run, from its ledger; empty without the key of the ledger's chain.
Json statements_of(const fs::path& run) {
  Json statements = Json::array();
  if (!is_there(run / "summary.json") || !is_there(run / "ledger.jsonl")) return statements;
  const std::string key = ledger_key(run);
  if (key.empty() && parse_json(read_file(run / "summary.json", kMaxSummaryBytes)).value("randomness", Json()) == Json("secret"))
    return statements;
  const LedgerBook book = read_ledger(run / "ledger.jsonl", {}, key).book;
  for (const PrivacyStatement& one : model_statements(book))
    statements.push_back(
        {{"level", name_of(one.level)}, {"plain", plain_text(one, book.header().source)}, {"assumptions", one.assumptions}});
  return statements;
}

Json json_of(const Folder& folder, const Cell& cell, bool is_resolved) {
  const fs::path path = folder.of(cell);
  Json point = Json::object();
  for (const auto& [key, value] : cell.point) point[key] = value;
  Json json{{"key", cell.key},
            {"configuration", cell.configuration},
            {"point", std::move(point)},
            {"command", cell.command},
            {"folder", path.string()}};
  const bool is_training = folder.experiment.command == "run";
  if (is_resolved && is_training) {
    const Texts settings = resolved_settings(cell);
    json["settings"] = settings;
    json["defaults"] = defaults_of_parts(settings);
  }
  json["statements"] = Json::array();
  try {
    if (!folder.is_run) {
      const CellState state = cell_state(folder.path, folder.experiment, cell, folder.inputs);
      json["state"] = name_of(state.kind);
      if (state.kind == CellState::Kind::damaged)
        throw failure("'" + path.string() + "' is damaged: " + state.why + "; remove it to run the cell again");
    }
    if (is_training) json["accounts"] = accounts_of(path);
    if (is_training && is_resolved) json["statements"] = statements_of(path);
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    json["error"] = text.substr(0, text.find('\n'));
  }
  return json;
}

}  // namespace

Json report_task() {
  Json fields = Json::array();
  for_each_report_field([&](const auto& field) {
    if (!field.of_round_name().empty())
      fields.push_back(Json::array({field.name, field.of_round_name(), field.is(ReportRule::summed)}));
  });
  return {{"fields", std::move(fields)}, {"defaults", resolved_settings({})}, {"sweeps", Json::array()}};
}

Json sweep_task(const fs::path& path, bool is_recorded) {
  Folder folder{.path = path};
  if (is_there(path / "sweep.json"))
    read_sweep(folder);
  else if (is_there(path / "config.toml"))
    read_run(folder);
  else
    throw usage_error("'" + path.string() + "' contains no results; " +
                      (is_there(path / "experiment.toml") ? "run its experiment.toml with 'fedstride sweep'"
                                                          : "name a folder written by 'fedstride sweep' or 'run'"));
  Json cells = Json::array();
  std::set<std::string_view> resolved;
  for (const Cell& cell : folder.cells) {
    const bool is_resolved = resolved.size() < kMaxCellsResolved && resolved.insert(cell.configuration).second;
    cells.push_back(json_of(folder, cell, is_resolved));
  }
  Json json{{"folder", path.string()},
            {"is_run", folder.is_run},
            {"experiment", json_of(folder.experiment)},
            {"machine", folder.machine},
            {"cells", std::move(cells)}};
  if (is_recorded) json["data"] = data_of(folder);
  return json;
}

}  // namespace fedstride
