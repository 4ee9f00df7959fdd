#include "run/configuration.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/parse_number.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "nn/models.hpp"
#include "partitions/natural.hpp"
#include "partitions/natural_grouped.hpp"
#include "partitions/outside_rows.hpp"
#include "partitions/own_rows.hpp"
#include "run/client_reports.hpp"

namespace fedstride {
namespace {

// The value of a setting: text of the command line is converted to the type of the key.
SettingValue meant(const SettingInfo& info, const Setting& given) {
  const auto* text = std::get_if<std::string>(&given.value);
  if (text == nullptr || !given.from_command_line) return given.value;
  if (info.kind == SettingKind::flag && (*text == "true" || *text == "false")) return *text == "true";
  std::int64_t whole = 0;
  if (info.kind == SettingKind::whole && parse_number(*text, whole)) return whole;
  double number = 0;
  if (info.kind == SettingKind::number && parse_number(*text, number)) return number;
  return *text;
}

// Takes a setting's value out of those given, if it is there; whether it is.
bool take(const Settings& settings, const SettingInfo& info, void* owner) {
  const auto found = settings.find(info.name);
  if (found == settings.end()) return false;
  info.assign(owner, meant(info, found->second));
  return true;
}

std::vector<KnownName> known_names(const SettingInfo& info) {
  if (info.valid.known != nullptr) return info.valid.known();
  std::vector<KnownName> names;
  for (const std::string_view choice : info.choices) names.push_back({std::string(choice)});
  if (info.may_be_auto) names.push_back({"auto"});
  return names;
}

KeyInfo key_info(const SettingInfo& info, const void* owner, std::string_view group, std::vector<std::string> parts) {
  const bool anything = info.kind == SettingKind::flag || info.kind == SettingKind::text;
  return {.name = std::string(info.name),
          .help = std::string(info.help),
          .default_text = value_text(info.get(owner)),
          .valid_text = anything ? "" : info.valid_text(),
          .group = std::string(group),
          .parts = std::move(parts),
          .is_number = info.kind == SettingKind::whole || info.kind == SettingKind::number,
          .is_flag = info.kind == SettingKind::flag,
          .place = info.valid.place,
          .known = known_names(info)};
}

// Adds a key, or what another part of the same family says of one that is there already. Throws Error (usage) if another
// family, or the run itself, has a key of that name: a part from outside may bring one.
void add_key(std::vector<KeyInfo>& keys, KeyInfo key) {
  const auto known = std::ranges::find(keys, key.name, &KeyInfo::name);
  if (known == keys.end()) {
    keys.push_back(std::move(key));
    return;
  }
  if (known->group != key.group || key.parts.empty())
    throw usage_error(key.group + " '" + joined(key.parts) + "' has a setting '" + key.name + "', which is a key of " +
                      known->group + " already; it needs another name");
  if (known->default_text != key.default_text) known->default_text += "; " + key.parts.front() + " " + key.default_text;
  known->parts.push_back(key.parts.front());
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const auto& key : all_keys()) names.push_back(key.name);
  return names;
}

// "tolerance does not go with optimizer 'sgd'; its settings: learning-rate, ..."
Error does_not_apply(const std::string& name, const Configuration& configuration) {
  const auto keys = all_keys();
  const std::string family = std::ranges::find(keys, name, &KeyInfo::name)->group;
  std::string chosen;
  for (const ChosenPart* part : chosen_parts(configuration))
    if (part->family().key() == family) chosen = part->name();
  std::vector<std::string> own;
  for (const KeyInfo& key : keys)
    if (key.group == family && std::ranges::find(key.parts, chosen) != key.parts.end()) own.push_back(key.name);
  return usage_error(name + " does not go with " + family + " '" + chosen +
                     "'; its settings: " + (own.empty() ? "none" : joined(own)));
}

// --data names a data set of its own. If one of the two is in a file and the other on the command line, the latter wins.
void choose_data(const Settings& settings, Configuration& configuration) {
  const auto data = settings.find("data");
  const auto set = settings.find("dataset");
  if (configuration.data.empty() || data == settings.end()) return;
  if (set != settings.end() && configuration.dataset != kOwnFile) {
    if (set->second.from_command_line == data->second.from_command_line)
      throw usage_error("dataset is '" + configuration.dataset + "' and data is '" + configuration.data +
                        "'; valid is one of them (the data set of data is 'file')");
    if (set->second.from_command_line) {
      const Configuration defaults;
      configuration.data.clear();
      static_cast<ReadSettings&>(configuration) = defaults;
      return;
    }
  }
  configuration.dataset = kOwnFile;
}

// Refuses an aggregation that needs more updates than a round can have.
void check_round(const Configuration& configuration, std::size_t clients) {
  const std::size_t most = configuration.cohort->most(clients);
  const std::size_t least = configuration.aggregation->least_updates();
  if (least > most)
    throw usage_error("aggregation is '" + std::string(configuration.aggregation.name()) + "', which with these settings needs " +
                      std::to_string(least) + " updates a round; a round has at most " +
                      counted(static_cast<std::uint64_t>(most), "client"));
}

// Settings of files of one's own say nothing of other data sets.
void check_data(const Configuration& configuration) {
  const std::span<const DatasetSource> sources = dataset_sources();
  const auto source = std::ranges::find(sources, configuration.dataset, &DatasetSource::name);
  if (source == sources.end() || source->read) return;
  const Configuration defaults;
  for (const SettingInfo& info : settings_of<Configuration>()) {
    const bool may_be_named = info.name == "classes" && !source->is_published;
    if (!is_about_reading(info.name) || may_be_named || info.get(&configuration) == info.get(&defaults)) continue;
    throw usage_error(std::string(info.name) + " is given; it goes with data of your own (--data FILE), not with data set '" +
                      configuration.dataset + "'");
  }
}

}  // namespace

std::vector<KnownName> known_datasets() {
  std::vector<KnownName> names;
  for (const auto& source : dataset_sources()) names.push_back({std::string(source.name), std::string(source.summary)});
  return names;
}

DataOptions data_options(const Configuration& configuration) {
  DataOptions options{
      .data_dir = configuration.data_dir, .data = configuration.data, .read = configuration, .brought = configuration.brought};
  options.read.rows_are_protected =
      configuration.privacy.as<NoPrivacy>() == nullptr && configuration.partition.as<OwnRows>() == nullptr;
  return options;
}

bool is_about_normalising(std::string_view key) {
  return key == "normalise" || key == "mean" || key == "deviation" || key == "range";
}

bool is_about_reading(std::string_view key) {
  constexpr std::string_view kReading[] = {"format",     "label", "client-column", "targets",     "classes",    "class-names",
                                           "vocabulary", "words", "shape",         "public-data", "public-test"};
  return std::ranges::find(kReading, key) != std::end(kReading);
}

void require_client_count(const Configuration& configuration) {
  if (configuration.clients == 0)
    throw usage_error(
        "clients is 0; over a network their number must be said: 'fedstride data show' tells how many the data name");
}

bool is_by_natural_clients(const Configuration& configuration) {
  return configuration.partition.as<Natural>() != nullptr || configuration.partition.as<NaturalGrouped>() != nullptr;
}

std::vector<KnownName> known_client_reports() { return {{"all"}, {"none"}}; }

std::vector<KnownName> known_models() {
  std::vector<KnownName> names;
  names.reserve(kNamedModels.size());
  for (const auto& model : kNamedModels) names.push_back({std::string(model.name), std::string(model.summary)});
  return names;
}

Error unknown_key(const std::string& key) {
  const auto names = key_names();
  const auto near = nearest(key, names);
  return usage_error("key '" + key + "' is unknown; " + (near.empty() ? "" : "did you mean '" + std::string(near) + "'? ") +
                     "valid: the names of the flags that 'fedstride run --help' lists");
}

bool is_about_output(std::string_view key) { return key == "out" || key == "quiet"; }

bool is_free_on_resume(std::string_view key) {
  return key == "threads" || key == "evaluate-every" || key == "evaluate-rows" || key == "checkpoint-every" ||
         key == "client-reports" || key == "quiet" || key == "data" || key == "data-dir" || key == "roster" ||
         key == "update-memory";
}

Configuration with_absolute_paths(Configuration configuration) {
  const auto settle = [](std::span<const SettingInfo> settings, void* owner) {
    for (const SettingInfo& info : settings) {
      if (info.valid.place == Place::none || is_about_output(info.name)) continue;
      const std::string path = std::get<std::string>(info.get(owner));
      if (!path.empty()) info.set(owner, std::filesystem::absolute(path).lexically_normal().string());
    }
  };
  settle(settings_of<Configuration>(), &configuration);
  for (ChosenPart* chosen : chosen_parts(configuration)) settle(chosen->part().settings(), chosen->part().object());
  return configuration;
}

void check_together(const Configuration& configuration) {
  ClientReports::of(configuration.client_reports, configuration.seed);
  check_data(configuration);
  const auto clients = static_cast<std::size_t>(configuration.clients);
  if (clients == 0 && !is_by_natural_clients(configuration))
    throw usage_error("clients is 0; with partition '" + std::string(configuration.partition.name()) +
                      "' it must be a whole number from 1");
  if (clients > 0) check_round(configuration, clients);  // or once the data have said how many there are
  if (configuration.checkpoint_every != 1 && configuration.privacy.as<NoPrivacy>() == nullptr)
    throw usage_error("checkpoint-every is " + std::to_string(configuration.checkpoint_every) +
                      "; with privacy only 1 is valid, since the ledger and the checkpoint tell of the same rounds");
}

Configuration determining(Configuration configuration) {
  const Configuration defaults;
  if (configuration.max_update_norm == 0) configuration.over_norm = defaults.over_norm;
  if (configuration.server_schedule != ServerCourse::linear) {
    configuration.server_final_factor = defaults.server_final_factor;
    configuration.server_schedule_rounds = defaults.server_schedule_rounds;
  }
  if (configuration.server_schedule != ServerCourse::inverse) configuration.server_decay = defaults.server_decay;
  if (configuration.evaluate == EvaluateRule::plain) configuration.evaluate_every = defaults.evaluate_every;
  configuration.checkpoint_every = defaults.checkpoint_every;
  configuration.client_reports = defaults.client_reports;
  configuration.evaluate_rows = defaults.evaluate_rows;
  configuration.threads = defaults.threads;
  configuration.update_memory = defaults.update_memory;
  configuration.data = defaults.data;
  configuration.data_dir = defaults.data_dir;
  configuration.quiet = defaults.quiet;
  configuration.out = defaults.out;
  if (auto* own = configuration.partition.as<OwnRows>()) own->roster.clear();
  return configuration;
}

std::vector<KeyInfo> all_keys() {
  std::vector<KeyInfo> keys;
  const Configuration defaults;
  for (const SettingInfo& info : settings_of<Configuration>()) add_key(keys, key_info(info, &defaults, "run", {}));
  for (const ChosenPart* chosen : chosen_parts(defaults)) {
    const PartFamily& family = chosen->family();
    const std::string key(family.key());
    std::vector<KnownName> known;
    for (const auto& part : family.parts()) known.push_back({std::string(part->name()), std::string(part->summary())});
    add_key(keys, {.name = key,
                   .help = std::string(family.purpose()),
                   .default_text = std::string(chosen->name()),
                   .valid_text = "valid: " + joined(family.names()),
                   .group = key,
                   .parts = {},
                   .known = std::move(known)});
    for (const auto& part : family.parts())
      for (const SettingInfo& info : part->settings())
        add_key(keys, key_info(info, part->object(), key, {std::string(part->name())}));
  }
  return keys;
}

Configuration resolve(const Settings& settings) {
  Configuration configuration;
  std::set<std::string, std::less<>> used;
  // Keys of a file that belong to a part which the command line replaced by another one.
  std::set<std::string, std::less<>> replaced;

  for (ChosenPart* chosen : chosen_parts(configuration)) {
    const PartFamily& family = chosen->family();
    const auto setting = settings.find(family.key());
    if (setting != settings.end()) {
      const auto* name = std::get_if<std::string>(&setting->second.value);
      if (name == nullptr)
        throw usage_error(std::string(family.key()) + " is '" + value_text(setting->second.value) + "'; it must be a text, " +
                          joined(family.names()));
      chosen->choose(*name);
      used.emplace(family.key());
      if (setting->second.from_command_line)
        for (const auto& part : family.parts())
          for (const SettingInfo& info : part->settings()) replaced.emplace(info.name);
    }
    for (const SettingInfo& info : chosen->part().settings())
      if (take(settings, info, chosen->part().object())) used.emplace(info.name);
  }
  for (const SettingInfo& info : settings_of<Configuration>())
    if (take(settings, info, &configuration)) used.emplace(info.name);

  choose_data(settings, configuration);
  if (configuration.partition.as<OutsideRows>() != nullptr) {
    if (settings.contains("dataset") && configuration.dataset != kNoDataset)
      throw usage_error("dataset is '" + configuration.dataset +
                        "' and partition 'outside', in which only the clients' own code knows examples; valid is one of them");
    configuration.dataset = kNoDataset;
  }
  if (is_by_natural_clients(configuration) && !settings.contains("clients")) configuration.clients = 0;

  const auto names = key_names();
  for (const auto& [key, setting] : settings) {
    if (used.contains(key)) continue;
    if (std::ranges::find(names, key) == names.end()) throw unknown_key(key);
    if (!setting.from_command_line && replaced.contains(key)) continue;
    throw does_not_apply(key, configuration);
  }
  if (example_level(configuration.privacy) != nullptr)
    configuration.optimizer->gradients_are_noisy([&](std::string_view key) { return settings.contains(key); });
  check_together(configuration);
  return configuration;
}

PartFamily& PrivacyPart::family() {
  static PartFamily family = [] {
    PartFamily all("dp", "whose privacy is protected");
    add_parts<PrivacyPart, NoPrivacy, ExamplePrivacy, ClientPrivacy, BothPrivacy>(all);
    return all;
  }();
  return family;
}

std::array<ChosenPart*, 10> chosen_parts(Configuration& configuration) {
  return {&configuration.partition, &configuration.feature_skew, &configuration.optimizer, &configuration.objective,
          &configuration.attack,    &configuration.personal,     &configuration.cohort,    &configuration.aggregation,
          &configuration.server,    &configuration.privacy};
}
std::array<const ChosenPart*, 10> chosen_parts(const Configuration& configuration) {
  return {&configuration.partition, &configuration.feature_skew, &configuration.optimizer, &configuration.objective,
          &configuration.attack,    &configuration.personal,     &configuration.cohort,    &configuration.aggregation,
          &configuration.server,    &configuration.privacy};
}

}  // namespace fedstride
