#include "run/configuration.hpp"

#include <algorithm>
#include <set>

#include "core/text.hpp"

namespace fedstride {
namespace {

std::string shown(bool value) { return value ? "true" : "false"; }
std::string shown(const std::string& value) { return value; }
template <class Number>
std::string shown(Number value) {
  return number_text(value);
}

template <class Value>
constexpr std::string_view kKind = std::is_same_v<Value, bool>          ? "true or false"
                                   : std::is_same_v<Value, std::string> ? "a text"
                                   : std::is_integral_v<Value>          ? "a whole number"
                                                                        : "a number";

template <class Value>
bool parse_number(std::string_view text, Value& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string described(const Setting& setting) {
  return std::visit([](const auto& value) { return shown(value); }, setting.value);
}

// The setting as a Value. Compiled once a type, not once a field: there are many fields.
template <class Value>
Value converted(std::string_view name, const Valid& valid, const Setting& setting) {
  Value result{};
  bool good = false;
  const auto* text = std::get_if<std::string>(&setting.value);
  if constexpr (std::is_same_v<Value, std::string>) {
    good = text != nullptr;
    if (good) result = *text;
  } else if constexpr (std::is_same_v<Value, bool>) {
    if (const auto* given = std::get_if<bool>(&setting.value)) {
      result = *given;
      good = true;
    } else if (text != nullptr && setting.from_command_line) {
      result = *text == "true";
      good = result || *text == "false";
    }
  } else {
    if (const auto* whole = std::get_if<std::int64_t>(&setting.value)) {
      if constexpr (std::is_integral_v<Value>)
        good = std::in_range<Value>(*whole);
      else
        good = true;
      if (good) result = static_cast<Value>(*whole);
    } else if (const auto* number = std::get_if<double>(&setting.value)) {
      good = !std::is_integral_v<Value>;
      if (good) result = static_cast<Value>(*number);
    } else if (text != nullptr && setting.from_command_line) {
      good = parse_number(*text, result);
    }
  }
  if (!good)
    throw usage_error(std::string(name) + " is '" + described(setting) + "'; it must be " +
                      (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool> ? valid.text(std::is_integral_v<Value>)
                                                                                   : std::string(kKind<Value>)));
  check_value(name, valid, result);
  return result;
}

// Takes the field's value out of the settings, if it is there; whether it is.
template <class Part, class Owner, class Value>
bool take(const Settings& settings, const Field<Owner, Value>& field, Part& part) {
  const auto found = settings.find(field.name);
  if (found == settings.end()) return false;
  part.*field.member = converted<Value>(field.name, field.valid, found->second);
  return true;
}

template <class Value>
KeyInfo key_info(std::string_view name, std::string_view help, const Valid& valid, const Value& value,
                 std::string_view group, std::vector<std::string> parts) {
  const bool anything = std::is_same_v<Value, bool> || (std::is_same_v<Value, std::string> && valid.choices.empty());
  return {.name = std::string(name), .help = std::string(help), .default_text = shown(value),
          .valid_text = anything ? "" : valid.text(std::is_integral_v<Value>), .group = std::string(group),
          .parts = std::move(parts), .is_flag = std::is_same_v<Value, bool>};
}

// Adds a key, or what another part says of one that is there already.
void add_key(std::vector<KeyInfo>& keys, KeyInfo key) {
  const auto known = std::ranges::find(keys, key.name, &KeyInfo::name);
  if (known == keys.end()) {
    keys.push_back(std::move(key));
    return;
  }
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
  for_each_family(configuration, [&](std::string_view key, std::string_view, const auto& part) {
    if (key == family) chosen = part_name(part);
  });
  std::vector<std::string> own;
  for (const KeyInfo& key : keys)
    if (key.group == family && std::ranges::find(key.parts, chosen) != key.parts.end()) own.push_back(key.name);
  return usage_error(name + " does not go with " + family + " '" + chosen + "'; its settings: " +
                     (own.empty() ? "none" : joined(own)));
}

}  // namespace

Error unknown_key(const std::string& key) {
  const auto names = key_names();
  const auto near = nearest(key, names);
  return usage_error("key '" + key + "' is unknown; " + (near.empty() ? "" : "did you mean '" + std::string(near) + "'? ") +
                     "valid: the names of the flags that 'fedstride run --help' lists");
}

bool is_about_output(std::string_view key) { return key == "out" || key == "quiet"; }

bool is_free_on_resume(std::string_view key) {
  return key == "threads" || key == "evaluate-every" || key == "quiet" || key == "data-dir" || key == "roster";
}

Configuration determining(Configuration configuration) {
  const Configuration defaults;
  configuration.evaluate_every = defaults.evaluate_every;
  configuration.threads = defaults.threads;
  configuration.data_dir = defaults.data_dir;
  configuration.quiet = defaults.quiet;
  configuration.out = defaults.out;
  if (auto* own = std::get_if<OwnRows>(&configuration.partition)) own->roster.clear();
  return configuration;
}

std::vector<KeyInfo> all_keys() {
  std::vector<KeyInfo> keys;
  const Configuration defaults;
  for_each_field<Configuration>([&](const auto& field) {
    add_key(keys, key_info(field.name, field.help, field.valid, defaults.*field.member, "run", {}));
  });
  for_each_family(defaults, [&]<class Family>(std::string_view key, std::string_view what, const Family& family) {
    add_key(keys, {.name = std::string(key), .help = std::string(what), .default_text = std::string(part_name(family)),
                   .valid_text = "valid: " + joined(part_names<Family>()), .group = std::string(key), .parts = {}});
    for_each_part<Family>([&]<class Part>(const Part& part) {
      for_each_field<Part>([&](const auto& field) {
        add_key(keys, key_info(field.name, field.help, field.valid, part.*field.member, key, {std::string(Part::kName)}));
      });
    });
  });
  return keys;
}

Configuration resolve(const Settings& settings) {
  Configuration configuration;
  std::set<std::string, std::less<>> used;
  // Keys of a file that belong to a part which the command line replaced by another one.
  std::set<std::string, std::less<>> replaced;

  for_each_family(configuration, [&]<class Family>(std::string_view key, std::string_view, Family& family) {
    const auto setting = settings.find(key);
    if (setting != settings.end()) {
      const auto* name = std::get_if<std::string>(&setting->second.value);
      if (name == nullptr)
        throw usage_error(std::string(key) + " is '" + described(setting->second) + "'; it must be a text, " +
                          joined(part_names<Family>()));
      family = make_part<Family>(key, *name);
      used.emplace(key);
      if (setting->second.from_command_line) {
        for_each_part<Family>([&]<class Part>(const Part&) {
          for_each_field<Part>([&](const auto& field) { replaced.emplace(field.name); });
        });
      }
    }
    std::visit(
        [&]<class Part>(Part& part) {
          for_each_field<Part>([&](const auto& field) {
            if (take(settings, field, part)) used.emplace(field.name);
          });
        },
        family);
  });
  for_each_field<Configuration>([&](const auto& field) {
    if (take(settings, field, configuration)) used.emplace(field.name);
  });

  const auto names = key_names();
  for (const auto& [key, setting] : settings) {
    if (used.contains(key)) continue;
    if (std::ranges::find(names, key) == names.end()) throw unknown_key(key);
    if (!setting.from_command_line && replaced.contains(key)) continue;
    throw does_not_apply(key, configuration);
  }
  if (auto* adadp = std::get_if<Adadp>(&configuration.optimizer); adadp != nullptr && example_level(configuration.privacy)) {
    adadp->noisy = true;
    if (!settings.contains("tolerance")) adadp->tolerance = 1;  // the paper's, with noise
  }
  return configuration;
}

}  // namespace fedstride
