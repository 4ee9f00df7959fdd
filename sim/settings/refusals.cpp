#include <algorithm>
#include <optional>
#include <utility>

#include "core/text.hpp"
#include "data/datasets.hpp"
#include "nn/tensor_line.hpp"
#include "sim/settings/client_reports.hpp"
#include "sim/settings/rules.hpp"

// Builds the message for a broken rule: what is refused and why, and which values would be valid, found by trying them.

namespace fedstride {
namespace {

// A key of a configuration; it belongs to the run, a family or a chosen part. `name` is the key in this configuration.
struct Key {
  std::string_view name;
  ChosenPart* chosen = nullptr;       ///< the family's chosen part, or the part that has the setting; null: a setting of the run
  const SettingInfo* info = nullptr;  ///< null: the key chooses a part

  const void* owner(const Configuration& c) const { return chosen == nullptr ? &c : std::as_const(*chosen).part().object(); }
  void* owner(Configuration& c) const { return chosen == nullptr ? &c : chosen->part().object(); }
  SettingValue get(const Configuration& c) const {
    return info == nullptr ? SettingValue(std::string(chosen->name())) : info->get(owner(c));
  }
  bool is_read(const Configuration& c) const { return info == nullptr || info->is_read(owner(c)); }
  bool chooses_a_name() const { return info == nullptr || info->kind == SettingKind::choice; }
};

std::optional<Key> find_key(Configuration& configuration, std::string_view name) {
  for (ChosenPart* chosen : chosen_parts(configuration)) {
    if (chosen->family().key() == name) return Key{chosen->family().key(), chosen};
    if (const SettingInfo* info = chosen->part().find(name)) return Key{info->name, chosen, info};
  }
  for (const SettingInfo& info : settings_of<Configuration>())
    if (info.name == name) return Key{info.name, nullptr, &info};
  constexpr std::string_view kPrefix = "client-";
  if (name.starts_with(kPrefix)) return find_key(configuration, name.substr(kPrefix.size()));
  return std::nullopt;
}

std::string quoted(const SettingValue& value) {
  constexpr std::size_t kMost = 60;  // a model line that lists tensors may be long
  std::string text = value_text(value);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return std::holds_alternative<std::string>(value) ? "'" + text + "'" : text;
}

// Expands placeholders: {optimizer} becomes "optimizer 'adam'", and its key is added to `keys`.
std::string expanded(std::string_view reason, Configuration& configuration, std::vector<std::string>& keys) {
  std::string text;
  while (true) {
    const std::size_t open = reason.find('{');
    text += reason.substr(0, open);
    if (open == std::string_view::npos) return text;
    const std::size_t close = reason.find('}', open);
    const std::string_view name = reason.substr(open + 1, close - open - 1);
    reason.remove_prefix(close + 1);
    const std::span<const Fact> facts = rule_facts();
    const auto fact = std::ranges::find(facts, name, &Fact::name);
    if (fact != facts.end()) {
      text += fact->text(configuration);
    } else if (const auto key = find_key(configuration, name)) {
      text += std::string(key->name) + " " + quoted(key->get(configuration));
      keys.emplace_back(key->name);
    }
  }
}

SettingValue default_of(const Key& key) {
  if (key.chosen != nullptr) return key.chosen->family().make(key.chosen->name())->get(*key.info);
  const Configuration defaults;
  return key.info->get(&defaults);
}

// Other values of a key to try: all names, or the default.
std::vector<SettingValue> candidates(const Configuration& configuration, const Key& key) {
  std::vector<SettingValue> values;
  if (key.info == nullptr) {
    for (const std::string& name : key.chosen->family().names()) values.emplace_back(name);
  } else if (key.info->kind == SettingKind::choice) {
    for (const std::string_view name : key.info->choices) values.emplace_back(std::string(name));
  } else {
    values.push_back(default_of(key));
  }
  std::erase(values, key.get(configuration));
  return values;
}

Configuration with(Configuration configuration, std::string_view name, const SettingValue& value) {
  const Key key = *find_key(configuration, name);
  if (key.info == nullptr) {
    const ChosenPart before = *key.chosen;
    key.chosen->choose(std::get<std::string>(value));
    // Keep the settings that both parts have.
    for (const SettingInfo& kept : before.part().settings())
      if (const SettingInfo* same = key.chosen->part().find(kept.name))
        same->set(key.chosen->part().object(), before.part().get(kept));
  } else
    key.info->assign(key.owner(configuration), value);
  return configuration;
}

bool is_broken(const Rule& rule, const Configuration& configuration) {
  try {
    return rule.breaks(configuration);
  } catch (const Error&) {  // for example, a cohort larger than the federation
    return true;
  }
}

Refusal without_remedy(const Rule& rule, Configuration& configuration) {
  Refusal made{.subject = std::string(rule.subject)};
  if (const auto subject = find_key(configuration, rule.subject)) {
    made.subject = subject->name;
    made.value = quoted(subject->get(configuration));
  }
  made.keys = {made.subject};
  made.reason = expanded(rule.reason, configuration, made.keys);
  return made;
}

Refusal make_refusal(const Rule& rule, RuleScope scope, const Configuration& configuration) {
  Configuration own = configuration;
  Refusal made = without_remedy(rule, own);
  const auto subject = find_key(own, rule.subject);
  std::vector<std::string_view> keys;
  if (!rule.remedies.empty()) keys = split(rule.remedies, ' ');
  if (subject && subject->chooses_a_name()) keys.push_back(rule.subject);
  for (const std::string_view key : keys)
    if (const auto found = find_key(own, key)) made.keys.emplace_back(found->name);
  // A remedy must not break a rule that this configuration satisfies.
  std::vector<const Rule*> kept{&rule};
  for (const RuleScope checked : {RuleScope::anywhere, scope})
    for (const Rule& other : rules(checked))
      if (!is_broken(other, configuration)) kept.push_back(&other);
  made.remedy = valid_values(configuration, keys, [&](const Configuration& other) {
    return std::ranges::none_of(kept, [&](const Rule* one) { return is_broken(*one, other); });
  });
  return made;
}

}  // namespace

std::string valid_values(const Configuration& configuration, std::span<const std::string_view> keys,
                         const std::function<bool(const Configuration&)>& holds) {
  Configuration own = configuration;
  std::vector<std::string> groups;
  for (const std::string_view name : keys) {
    const auto key = find_key(own, name);
    if (!key) continue;  // not a setting of the chosen parts
    std::vector<std::string> good;
    for (const SettingValue& value : candidates(configuration, *key))
      if (holds(with(configuration, name, value))) good.push_back(value_text(value).empty() ? "''" : value_text(value));
    if (!good.empty()) groups.push_back(std::string(key->name) + " " + joined(good));
  }
  return groups.empty() ? "" : "valid: " + joined(groups, ", or ");
}

std::optional<Refusal> refusal(const Configuration& configuration, RuleScope scope) {
  for (const Rule& rule : rules(scope))
    if (rule.breaks(configuration)) return make_refusal(rule, scope, configuration);
  return std::nullopt;
}

std::optional<std::string> broken_rule(const Configuration& configuration) {
  Configuration own = configuration;
  for (const Rule& rule : rules(RuleScope::anywhere))
    if (rule.breaks(configuration)) return without_remedy(rule, own).text();
  return std::nullopt;
}

void check_rules(const Configuration& configuration, RuleScope scope) {
  if (auto why = refusal(configuration, scope)) throw RefusedByRule(std::move(*why));
}

namespace {

// The refusal of a setting that others of the same owner leave without effect. Its keys after the first are those others.
Refusal unread(const Configuration& configuration, std::string_view name) {
  Configuration own = configuration;
  const Key key = *find_key(own, name);
  Refusal made{.subject = std::string(name), .value = quoted(key.get(own)), .keys = {std::string(name)}};
  std::vector<std::string_view> choices;
  for (const SettingInfo& other : key.chosen != nullptr ? key.chosen->part().settings() : settings_of<Configuration>()) {
    const Key found{other.name, key.chosen, &other};
    std::vector<SettingValue> values = candidates(own, found);
    if (other.kind == SettingKind::flag) values = {true, false};
    if (other.kind == SettingKind::number || other.kind == SettingKind::whole) values.emplace_back(std::int64_t{1});
    if (other.may_be_auto) values.emplace_back(std::string("auto"));
    if (other.kind == SettingKind::text && other.valid.place != Place::none) values.emplace_back(std::string("FILE"));
    const SettingValue now = found.get(own);
    const bool decides = std::ranges::any_of(values, [&](const SettingValue& value) {
      other.set(found.owner(own), value);
      return key.is_read(own);
    });
    other.set(found.owner(own), now);
    if (!decides) continue;
    made.reason += (made.reason.empty() ? ", which has no effect with " : " and ") + std::string(other.name) + " " + quoted(now);
    made.keys.emplace_back(other.name);
    if (other.kind == SettingKind::choice) choices.push_back(other.name);
  }
  if (made.reason.empty()) made.reason = ", which has no effect with the other settings";  // it needs several others
  made.remedy = valid_values(configuration, choices, [&](const Configuration& changed) {
    Configuration copy = changed;
    return find_key(copy, name)->is_read(copy);
  });
  return made;
}

// Refuses settings without effect that are not at their default, as the file of a run lists all. A file's value is ignored if the
// command line made the choice that leaves it without effect.
void check_read(const Settings& settings, Configuration& configuration) {
  for (const auto& [name, given] : settings) {
    const auto key = find_key(configuration, name);
    if (!key || key->is_read(configuration)) continue;
    const SettingValue usual = default_of(*key);
    if (key->get(configuration) == usual) continue;
    Refusal why = unread(configuration, name);
    if (key->chosen != nullptr) why.keys.emplace_back(key->chosen->family().key());
    const bool is_replaced = !given.from_command_line && std::ranges::any_of(why.keys, [&](const std::string& other) {
      const auto found = settings.find(other);
      return found != settings.end() && found->second.from_command_line;
    });
    if (!is_replaced) throw RefusedByRule(std::move(why));
    key->info->set(key->owner(configuration), usual);
  }
}

// Refuses settings for reading the user's own files if another data set is chosen.
void check_reading(const Configuration& configuration) {
  const std::span<const DatasetSource> sources = dataset_sources();
  const auto source = std::ranges::find(sources, configuration.dataset, &DatasetSource::name);
  if (source == sources.end() || source->read) return;
  if (const UserSettings* users = user_level(configuration.privacy); users != nullptr && !users->user_column.empty())
    throw usage_error("user-column is given; it applies to your own data (--data FILE), not to data set '" +
                      configuration.dataset + "'");
  const Configuration defaults;
  for (const SettingInfo& info : settings_of<Configuration>()) {
    const bool may_be_named = info.name == "classes" && !source->is_published;
    if (!is_about_reading(info.name) || may_be_named || info.get(&configuration) == info.get(&defaults)) continue;
    throw usage_error(std::string(info.name) + " is given; it applies to your own data (--data FILE), not to data set '" +
                      configuration.dataset + "'");
  }
}

}  // namespace

void check_together(const Configuration& configuration) {
  ClientReports::of(configuration.client_reports, configuration.seed);
  check_reading(configuration);
  if (configuration.clients > 0) configuration.cohort->most(static_cast<std::size_t>(configuration.clients));  // throws
  check_rules(configuration);
  if (is_trained_outside(configuration) || is_tensor_line(configuration.model)) check_rules(configuration, RuleScope::own_code);
}

Configuration resolve(const Settings& settings) {
  Configuration configuration = resolve_unchecked(settings);
  check_read(settings, configuration);
  check_together(configuration);
  return configuration;
}

}  // namespace fedstride
