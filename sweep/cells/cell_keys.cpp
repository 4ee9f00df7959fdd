#include "sweep/cells/cell_keys.hpp"

#include <algorithm>

#include "core/build_info.hpp"
#include "core/hash.hpp"
#include "core/secret_key.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "partitions/outside_rows.hpp"
#include "partitions/own_rows.hpp"
#include "server/cohorts.hpp"
#include "sim/settings/document.hpp"

namespace fedstride {
namespace {

std::string key_of(std::initializer_list<std::string_view> parts) {
  Hash hash;
  for (const std::string_view part : parts) hash.value(static_cast<std::uint64_t>(part.size())).text(part);
  return hash.hex().substr(0, 16);
}

// Returns the point without the seed as text. Points with different texts are different configurations, even if they share runs.
std::string seedless_point(const Cell& cell) {
  std::string text;
  for (const auto& [key, value] : cell.point)
    if (key != "seed") text += key + '\0' + value + '\0';
  return text;
}

// Removes and returns the paths of the files that a configuration reads.
std::vector<std::string> take_files(Configuration& configuration) {
  std::vector<std::string> files{std::exchange(configuration.init, "")};
  if (std::string* path = configuration.partition->reads()) files.push_back(std::exchange(*path, ""));
  if (auto* cohort = configuration.cohort.as<TraceCohort>()) files.push_back(std::exchange(cohort->trace, ""));
  std::erase(files, "");
  // These files are covered by the data set's hash.
  configuration.public_data.clear();
  configuration.words.clear();
  return files;
}

}  // namespace

std::string determining_text(const Configuration& configuration) {
  const auto counts = [](Shapes shapes) { return shapes_rounds(shapes) || shapes == Shapes::reports; };
  Configuration lasting = determining(configuration, counts);
  take_files(lasting);
  return identity_settings(lasting);
}

namespace {

// Returns the settings for reading the user's file that differ from their defaults, as text.
std::string read_text(const Configuration& configuration) {
  std::string text;
  const Configuration defaults;
  for (const SettingInfo& info : settings_of<Configuration>()) {
    const SettingValue value = info.get(&configuration);
    if ((is_about_reading(info.name) || is_about_normalizing(info.name)) && value != info.get(&defaults))
      text += ", " + std::string(info.name) + " " + value_text(value);
  }
  return text;
}

}  // namespace

std::string data_input(const Configuration& configuration) {
  return std::string(is_private(configuration) ? "private data set " : "data set ") + configuration.dataset +
         (configuration.data.empty() ? "" : " '" + configuration.data + "'") + read_text(configuration) +
         (configuration.data_dir.empty() ? "" : " in " + configuration.data_dir);
}

std::string file_input(const std::string& path) { return "file " + path; }

const std::string& CellKeys::data_hash(const Configuration& configuration) {
  const std::string name = data_input(configuration);
  const auto known = inputs_.find(name);
  if (known != inputs_.end()) return known->second;
  if (configuration.partition.as<OutsideRows>() != nullptr) return inputs_[name];  // none here
  const bool secret = is_private(configuration);
  std::string& raw = secret ? raw_[name] : inputs_[name];
  if (raw.empty()) raw = load_dataset(configuration.dataset, data_options(configuration)).hash;
  if (!secret) return raw;
  std::error_code error;
  if (!key_) key_ = std::filesystem::exists(sweep_key_, error) ? load_key(sweep_key_) : new_secret_key();
  return inputs_[name] = keyed_hash(*key_, "fedstride: data of cells " + raw);
}

const std::string& CellKeys::file_hash(const std::string& path) {
  const std::string name = file_input(path);
  const auto known = inputs_.find(name);
  if (known != inputs_.end()) return known->second;
  return inputs_[name] = file_sha256(path);
}

void check_choice(const Experiment& experiment, const Configuration& configuration) {
  const Tuning& tuning = experiment.tuning;
  if (tuning.keys.empty() || !is_private(configuration)) return;
  const bool is_released = configuration.evaluate == EvaluateRule::privately ||
                           names_public_test(configuration.dataset, configuration) ||
                           configuration.partition.as<OwnRows>() != nullptr;
  if (tuning.on == "test" && is_released) return;
  throw usage_error("[tune] chooses " + joined(tuning.keys) + " on " + tuning.on + " rows, which dp '" +
                    std::string(configuration.privacy.name()) +
                    "' protects like training rows; set on = \"test\" and why, with a public test set (--public-test) or "
                    "--evaluate private");
}

void CellKeys::fill_run(Cell& cell) {
  Configuration configuration = resolve_unchecked(cell.settings);
  check_choice(experiment_, configuration);
  std::string inputs = data_hash(configuration);
  const std::string text = determining_text(configuration);
  const std::uint64_t seed = std::exchange(configuration.seed, Configuration{}.seed);
  const std::string seedless = seed == configuration.seed ? text : determining_text(configuration);
  for (const auto& path : take_files(configuration)) inputs += file_hash(path);
  const std::string version = std::to_string(numerics_version(configuration));
  cell.key = key_of({"run", text, inputs, version});
  cell.configuration = key_of({"run, any seed", seedless, inputs, version, seedless_point(cell)});
}

void CellKeys::fill_other(Cell& cell) const {
  const auto words_of = [&](const Cell& one) {
    std::string text;
    for (const auto& word : command_words(experiment_, one)) text += word + '\0';
    return text;
  };
  const std::string version = std::to_string(kOpenNumericsVersion) + " " + build_info().version;
  cell.key = key_of({"command", words_of(cell), version});
  Cell seedless = cell;
  seedless.settings.erase("seed");
  cell.configuration = key_of({"command, any seed", words_of(seedless), version, seedless_point(cell)});
}

void CellKeys::fill(Cell& cell) {
  experiment_.command == "run" ? fill_run(cell) : fill_other(cell);
  cell.command = "fedstride";
  for (const auto& word : command_words(experiment_, cell)) cell.command += " " + shell_quoted(word);
}

std::vector<std::string> command_words(const Experiment& experiment, const Cell& cell) {
  std::vector<std::string> words;
  for (const auto word : split(experiment.command, ' '))
    if (!word.empty()) words.emplace_back(word);
  for (const auto& [key, setting] : cell.settings) {
    if (key == "threads" || key == "quiet") continue;
    if (const bool* flag = std::get_if<bool>(&setting.value)) {
      if (*flag) words.push_back("--" + key);
      continue;
    }
    words.push_back("--" + key);
    words.push_back(value_text(setting.value));
  }
  if (experiment.command != "run") words.push_back("--json");
  return words;
}

}  // namespace fedstride
