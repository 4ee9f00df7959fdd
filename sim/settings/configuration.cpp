#include "sim/settings/configuration.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "core/field_words.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "data/files/convert.hpp"
#include "nn/models.hpp"
#include "nn/tensor_line.hpp"
#include "partitions/given_sizes.hpp"
#include "partitions/natural.hpp"
#include "partitions/natural_grouped.hpp"
#include "partitions/outside_rows.hpp"
#include "partitions/own_rows.hpp"
#include "server/cohorts.hpp"
#include "sim/settings/resolving.hpp"

namespace fedstride {
namespace {

// The value of a setting; text from the command line is converted to the key's type.
SettingValue typed_value(const SettingInfo& info, const Setting& given) {
  const auto* text = std::get_if<std::string>(&given.value);
  if (text == nullptr || !given.from_command_line) return given.value;
  if (info.kind == SettingKind::flag && (*text == "true" || *text == "false")) return *text == "true";
  std::int64_t whole = 0;
  if (info.kind == SettingKind::whole && parse_number(*text, whole)) return whole;
  double number = 0;
  if (info.kind == SettingKind::number && parse_number(*text, number)) return number;
  return *text;
}

// Assigns a setting's value if given; returns whether it was given.
bool take(const Settings& settings, const SettingInfo& info, void* owner) {
  const auto found = settings.find(info.name);
  if (found == settings.end()) return false;
  info.assign(owner, typed_value(info, found->second));
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
          .shapes = info.shapes,
          .question = info.question,
          .shown = info.shown,
          .known = known_names(info)};
}

// Adds a key, or adds another part of the same family to an existing key. Throws Error (usage) if another family or the run
// itself has a key with this name, which can happen with external parts.
void add_key(std::vector<KeyInfo>& keys, KeyInfo key) {
  const auto known = std::ranges::find(keys, key.name, &KeyInfo::name);
  if (known == keys.end()) {
    keys.push_back(std::move(key));
    return;
  }
  if (known->group != key.group || key.parts.empty())
    throw usage_error(key.group + " '" + joined(key.parts) + "' has a setting '" + key.name + "', which is already a key of " +
                      known->group + "; rename it");
  if (known->default_text != key.default_text) known->default_text += "; " + key.parts.front() + " " + key.default_text;
  known->parts.push_back(key.parts.front());
  known->shown = std::min(known->shown, key.shown);
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const auto& key : all_keys()) names.push_back(key.name);
  return names;
}

// The error "tolerance is not a setting of optimizer 'sgd'; it is one of --optimizer adadp"
NotOfChosenPart does_not_apply(const std::string& name, const Configuration& configuration) {
  const KeyInfo& key = *find_key(name);
  std::string chosen;
  for (const ChosenPart* part : chosen_parts(configuration))
    if (part->family().key() == key.group) chosen = part->name();
  std::string with = joined(key.parts);
  if (const auto last = with.rfind(", "); last != with.npos) with.replace(last, 2, " or ");
  const std::string of_server = "server-" + name;
  const bool has_server = configuration.server.part().find(of_server) != nullptr;
  return {name + " is not a setting of " + key.group + " '" + chosen + "'; it is one of --" + key.group + " " + with +
              (has_server ? "; the server's is --" + of_server : ""),
          key.group, key.parts};
}

// --data implies data set 'file'. If a file sets one of data and dataset, and the command line sets the other, the latter wins.
void choose_data(const Settings& settings, Configuration& configuration) {
  const auto data = settings.find("data");
  const auto set = settings.find("dataset");
  if (configuration.data.empty() || data == settings.end()) return;
  if (set != settings.end() && configuration.dataset != kOwnFile) {
    if (set->second.from_command_line == data->second.from_command_line)
      throw usage_error("dataset is '" + configuration.dataset + "' and data is '" + configuration.data +
                        "'; set only one of them (data implies dataset 'file')");
    if (set->second.from_command_line) {
      const Configuration defaults;
      configuration.data.clear();
      static_cast<ReadSettings&>(configuration) = defaults;
      return;
    }
  }
  configuration.dataset = kOwnFile;
}

}  // namespace

Settings with_clip_rule(Settings settings) {
  for (const char* key : {"clip", "client-clip"}) {
    const auto given = settings.find(key);
    if (given == settings.end()) continue;
    const auto* text = std::get_if<std::string>(&given->second.value);
    if (text == nullptr || !find_choice<ClipRule>(*text)) continue;
    const std::string rule = *text;
    auto node = settings.extract(given);
    node.key() = "clip-rule";
    if (!settings.insert(std::move(node)).inserted)
      throw usage_error("both 'clip-rule' and " + std::string(key) + " '" + rule + "' are given; set only one of them");
  }
  return settings;
}

std::vector<KnownName> known_datasets() {
  std::vector<KnownName> names;
  for (const auto& source : dataset_sources()) names.push_back({std::string(source.name), std::string(source.summary)});
  return names;
}

DataOptions data_options(const Configuration& configuration) {
  DataOptions options{
      .data_dir = configuration.data_dir, .data = configuration.data, .read = configuration, .brought = configuration.brought};
  if (const UserSettings* users = user_level(configuration.privacy); users != nullptr && !users->user_column.empty()) {
    const bool are_beside = configuration.partition.as<OwnRows>() != nullptr ||
                            (!configuration.client_column.empty() && configuration.client_column != users->user_column);
    (are_beside ? options.read.user_column : options.read.client_column) = users->user_column;
    options.read.users_are_clients = is_by_natural_clients(configuration) && configuration.client_column.empty();
  }
  options.read.may_lack_clients = configuration.partition.as<OwnRows>() != nullptr;  // the coordinator's rows
  options.read.rows_are_protected = is_private(configuration) && configuration.partition.as<OwnRows>() == nullptr;
  options.read.finds_offsets = configuration.partition.as<OwnRows>() == nullptr;  // clients know only the offsets in settings
  return options;
}

bool is_about_normalizing(std::string_view key) {
  return key == "normalize" || key == "normalize-clip" || key == "features" || key == "mean" || key == "deviation" ||
         key == "range";
}

bool is_about_reading(std::string_view key) {
  constexpr std::string_view kReading[] = {
      "format",       "label",       "client-column", "targets", "classes",      "class-names", "vocabulary", "words",
      "shape",        "public-data", "public-test",   "inputs",  "drop-columns", "categories",  "missing",    "header",
      "decimal-mark", "encoding",    "offsets",       "numbers", "dates",        "resize",      "test-data"};
  return std::ranges::find(kReading, key) != std::end(kReading);
}

void require_client_count(const Configuration& configuration) {
  if (configuration.clients == 0)
    throw usage_error("clients is 0; over a network it must be set: 'fedstride data show' prints how many clients the data have");
}

bool is_by_natural_clients(const Configuration& configuration) {
  return configuration.partition.as<Natural>() != nullptr || configuration.partition.as<NaturalGrouped>() != nullptr;
}

std::vector<KnownName> known_client_reports() { return {{"all"}, {"none"}}; }

std::vector<KnownName> known_models() {
  std::vector<KnownName> names;
  names.reserve(1 + kNamedModels.size());
  names.push_back({std::string(kAutomaticModel), "one that fits the examples: images, rows of numbers or tokens"});
  for (const auto& model : kNamedModels) names.push_back({std::string(model.name), std::string(model.summary)});
  return names;
}

Error unknown_key(const std::string& key) {
  return usage_error("key '" + key + "' is unknown; " + advice("key", key, key_names()) +
                     "valid: the names of the flags that 'fedstride run --help' lists");
}

bool is_private(const Configuration& configuration) { return configuration.privacy.as<NoPrivacy>() == nullptr; }

// With "auto", clients keep state only if every client takes part in every round, and either the optimizer keeps state or there
// is only one client, as in training without a federation.
bool keeps_state(const Configuration& configuration) {
  if (configuration.client_state != ClientStateRule::automatic) return configuration.client_state == ClientStateRule::keep;
  if (configuration.cohort.as<AllClients>() == nullptr || configuration.mode->is_asynchronous()) return false;
  return configuration.clients == 1 || configuration.optimizer->keeps_state();
}

bool weighs_examples(const Configuration& configuration) {
  return configuration.weights == WeightRule::examples ||
         (configuration.weights == WeightRule::automatic && client_level(configuration.privacy) == nullptr &&
          !configuration.mode->is_asynchronous());
}

bool has_time(const Configuration& configuration) { return configuration.devices->has_time(); }

double participation_rate(const Configuration& configuration, std::size_t clients) {
  return configuration.mode->is_asynchronous()
             ? configuration.mode->buffer() / static_cast<double>(clients)
             : configuration.cohort->rate(clients) / static_cast<double>(minimum_separation(configuration));
}

std::uint64_t minimum_separation(const Configuration& configuration) {
  const ClientSettings* settings = client_level(configuration.privacy);
  return settings == nullptr ? 1 : static_cast<std::uint64_t>(settings->minimum_separation);
}

std::size_t most_updates(const Configuration& configuration, std::size_t clients) {
  return configuration.mode->is_asynchronous() ? std::min(clients, static_cast<std::size_t>(configuration.mode->buffer()))
                                               : configuration.cohort->most(clients);
}

double attackers_among(const Configuration& configuration) {
  const double asked = configuration.attack->attackers();
  return asked < 1 ? std::round(asked * configuration.clients) : asked;
}

bool is_trained_outside(const Configuration& configuration) { return configuration.code.of("train") != nullptr; }

bool is_clipped_outside(const Configuration& configuration) {
  return is_trained_outside(configuration) && configuration.code.of("train")->clips;
}

void for_each_setting(Configuration& configuration, function_ref<void(const SettingInfo&, void*)> visit) {
  for (const SettingInfo& info : settings_of<Configuration>()) visit(info, &configuration);
  for (ChosenPart* chosen : chosen_parts(configuration))
    for (const SettingInfo& info : chosen->part().settings()) visit(info, chosen->part().object());
}

Configuration with_absolute_paths(Configuration configuration) {
  for_each_setting(configuration, [](const SettingInfo& info, void* owner) {
    if (info.valid.place == Place::none || shapes_output(info.shapes)) return;
    const std::string path = std::get<std::string>(info.get(owner));
    if (path.empty()) return;
    std::vector<std::string> paths;
    for (const auto& one : info.name == "data" ? listed_paths(path) : std::vector<std::filesystem::path>{path})
      paths.push_back(std::filesystem::absolute(one).lexically_normal().string());
    const std::string all = joined(paths, ",");
    for (std::size_t at = 0, length = 0; at < all.size(); at += length)
      if (length = character_bytes(std::string_view(all).substr(at)); length == 0)
        throw usage_error(std::string(info.name) + " is '" + clean_text(all) +
                          "'; a path that is to be found again must be UTF-8 without control characters");
    info.set(owner, all);
  });
  return configuration;
}

Configuration determining(Configuration configuration, function_ref<bool(Shapes)> counts) {
  const Configuration defaults;
  const int evaluate_every = configuration.evaluate_every;
  for (const SettingInfo& info : settings_of<Configuration>())
    if (!counts(info.shapes) || !info.is_read(&configuration)) info.set(&configuration, info.get(&defaults));
  // A private evaluation is a release, so its interval counts.
  if (configuration.evaluate == EvaluateRule::privately) configuration.evaluate_every = evaluate_every;
  for (ChosenPart* chosen : chosen_parts(configuration)) {
    const auto fresh = chosen->family().make(chosen->name());
    for (const SettingInfo& info : chosen->part().settings())
      if (!counts(info.shapes) || !info.is_read(chosen->part().object())) chosen->part().set(info, fresh->get(info));
  }
  return configuration;
}

Shapes shapes_of(std::string_view key) {
  const KeyInfo* known = find_key(key);
  if (known == nullptr) throw unknown_key(std::string(key));
  return known->shapes;
}

namespace {

/// The valid choices: the parts' names, preceded by "auto" if the family has it.
std::vector<std::string> choices_of(const PartFamily& family) {
  std::vector<std::string> names = family.names();
  if (!automatic_summary(family.key()).empty()) names.insert(names.begin(), std::string(kAutomatic));
  return names;
}

std::vector<KeyInfo> make_keys(const Configuration& defaults) {
  std::vector<KeyInfo> keys;
  for (const SettingInfo& info : settings_of<Configuration>()) add_key(keys, key_info(info, &defaults, "run", {}));
  for (const ChosenPart* chosen : chosen_parts(defaults)) {
    const PartFamily& family = chosen->family();
    const std::string key(family.key());
    const std::string_view automatic = automatic_summary(key);
    std::vector<KnownName> known;
    if (!automatic.empty()) known.push_back({std::string(kAutomatic), std::string(automatic)});
    for (const auto& part : family.parts()) known.push_back({std::string(part->name()), std::string(part->summary())});
    add_key(keys, {.name = key,
                   .help = std::string(family.purpose()),
                   .default_text = automatic.empty() ? std::string(chosen->name()) : std::string(kAutomatic),
                   .valid_text = "valid: " + joined(choices_of(family)),
                   .group = key,
                   .parts = {},
                   .question = family.question(),
                   .shown = family.shown(),
                   .known = std::move(known)});
    for (const auto& part : family.parts())
      for (const SettingInfo& info : part->settings()) {
        KeyInfo setting = key_info(info, part->object(), key, {std::string(part->name())});
        setting.question = family.question();
        add_key(keys, std::move(setting));
      }
  }
  return keys;
}

}  // namespace

std::span<const KeyInfo> all_keys() {
  static const Configuration defaults;  // constructing it fills the registries
  static std::mutex mutex;
  // Registries only grow, so their sizes identify their contents.
  static std::map<std::pair<std::size_t, std::size_t>, std::vector<KeyInfo>> made;
  const std::lock_guard lock(mutex);
  const std::pair size(registered_parts(), dataset_sources().size());
  auto known = made.find(size);
  if (known == made.end()) known = made.emplace(size, make_keys(defaults)).first;
  return known->second;
}

const KeyInfo* find_key(std::string_view name) {
  const auto keys = all_keys();
  const auto known = std::ranges::find(keys, name, &KeyInfo::name);
  return known == keys.end() ? nullptr : &*known;
}

Configuration resolve_named(const Settings& settings) {
  Configuration configuration;
  std::set<std::string, std::less<>> used;
  // Keys of all parts of families whose part the command line chose; a file's values for parts not chosen are ignored.
  std::set<std::string, std::less<>> replaced;

  for (ChosenPart* chosen : chosen_parts(configuration)) {
    const PartFamily& family = chosen->family();
    const auto setting = settings.find(family.key());
    if (setting != settings.end()) {
      if (chosen == &configuration.partition) configuration.partition_is_asked_for = setting->second.from_command_line;
      const auto* name = std::get_if<std::string>(&setting->second.value);
      if (name == nullptr)
        throw usage_error(std::string(family.key()) + " is '" + value_text(setting->second.value) +
                          "'; valid: " + joined(choices_of(family)));
      if (chosen == &configuration.partition && is_size_law(*name))
        throw usage_error("partition is '" + *name + "', now a law of sizes; set partition to 'sizes' and sizes to '" + *name +
                          "'");
      if (std::ranges::none_of(family.parts(), [&](const auto& part) { return part->name() == *name; }))
        throw usage_error(unknown_name(family.key(), *name, choices_of(family)));
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
                        "' and partition is 'outside', whose examples only the clients' own code knows; set only one of them");
    configuration.dataset = kNoDataset;
  }
  if (is_by_natural_clients(configuration) && !settings.contains("clients")) configuration.clients = 0;

  for (const auto& [key, setting] : settings) {
    if (used.contains(key)) continue;
    if (find_key(key) == nullptr) throw unknown_key(key);
    if (!setting.from_command_line && replaced.contains(key)) continue;
    throw does_not_apply(key, configuration);
  }
  if (example_level(configuration.privacy) != nullptr)
    configuration.optimizer->gradients_are_noisy([&](std::string_view key) { return settings.contains(key); });
  return configuration;
}

PartFamily& PrivacyPart::family() {
  static PartFamily family = [] {
    PartFamily all("dp", "whose privacy is protected", Question::privacy, Shown::often);
    add_parts<PrivacyPart, NoPrivacy, ExamplePrivacy, ClientPrivacy, BothPrivacy, UserPrivacy>(all);
    return all;
  }();
  return family;
}

namespace {

auto parts_of(auto& of) {
  using Part = std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(of)>>, const ChosenPart, ChosenPart>;
  return std::array<Part*, 15>{&of.partition, &of.feature_skew, &of.optimizer,     &of.objective,    &of.attack,
                               &of.personal,  &of.compress_up,  &of.compress_down, &of.cohort,       &of.aggregation,
                               &of.server,    &of.privacy,      &of.devices,       &of.availability, &of.mode};
}

}  // namespace

std::array<ChosenPart*, 15> chosen_parts(Configuration& configuration) { return parts_of(configuration); }
std::array<const ChosenPart*, 15> chosen_parts(const Configuration& configuration) { return parts_of(configuration); }

}  // namespace fedstride
