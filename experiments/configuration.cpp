#include "experiments/configuration.hpp"

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

// The setting as the field's type, or an error that names the key, the value and what would be valid.
template <class Owner, class Value, std::derived_from<Owner> Part>
void assign(const Field<Owner, Value>& field, const Setting& setting, Part& owner) {
  Value result{};
  bool good = false;
  std::visit(
      [&]<class Given>(const Given& given) {
        if constexpr (std::is_same_v<Given, std::string>) {
          if constexpr (std::is_same_v<Value, std::string>) {
            result = given;
            good = true;
          } else if (setting.from_command_line) {
            if constexpr (std::is_same_v<Value, bool>) {
              result = given == "true";
              good = given == "true" || given == "false";
            } else {
              good = parse_number(given, result);
            }
          }
        } else if constexpr (std::is_same_v<Given, bool> || std::is_same_v<Value, bool>) {
          if constexpr (std::is_same_v<Given, Value>) {
            result = given;
            good = true;
          }
        } else if constexpr (!std::is_same_v<Value, std::string>) {
          if constexpr (std::is_integral_v<Given> && std::is_integral_v<Value>) {
            good = std::in_range<Value>(given);
            if (good) result = static_cast<Value>(given);
          } else if constexpr (!std::is_integral_v<Value>) {
            result = static_cast<Value>(given);
            good = true;
          }
        }
      },
      setting.value);
  if (!good)
    throw usage_error(std::string(field.name) + " is '" + described(setting) + "'; it must be " +
                      (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool> ? field.valid.text(std::is_integral_v<Value>)
                                                                                   : std::string(kKind<Value>)));
  check_field(field, result);
  owner.*field.member = result;
}

template <class Visitor>
void for_each_key_of_parts(Visitor&& visitor) {
  const Configuration configuration;
  for_each_family(configuration, [&]<class Family>(std::string_view key, std::string_view, const Family&) {
    for_each_part<Family>([&]<class Part>(const Part& part) {
      for_each_field<Part>([&](const auto& field) { visitor(key, part, field); });
    });
  });
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const auto& key : all_keys()) names.push_back(key.name);
  return names;
}

// "tolerance does not go with optimizer 'sgd'; its settings: learning-rate, ..."
Error does_not_apply(const std::string& key, const Configuration& configuration) {
  std::string message = key + " cannot be used here";
  for_each_key_of_parts([&](std::string_view family, const auto&, const auto& field) {
    if (field.name != key) return;
    for_each_family(configuration, [&](std::string_view name, std::string_view, const auto& chosen) {
      if (name != family) return;
      std::vector<std::string> own;
      std::visit([&]<class Part>(const Part&) { for_each_field<Part>([&](const auto& f) { own.emplace_back(f.name); }); },
                 chosen);
      message = key + " does not go with " + std::string(family) + " '" + std::string(part_name(chosen)) +
                "'; its settings: " + (own.empty() ? "none" : joined(own));
    });
  });
  return usage_error(message);
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
  return key == "threads" || key == "evaluate-every" || key == "quiet" || key == "data-dir";
}

std::vector<KeyInfo> all_keys() {
  std::vector<KeyInfo> keys;
  const Configuration defaults;
  for_each_field<Configuration>([&]<class Value>(const Field<Configuration, Value>& field) {
    keys.push_back({.name = std::string(field.name), .help = std::string(field.help),
                    .default_text = shown(defaults.*field.member), .valid_text = field.valid.text(std::is_integral_v<Value>),
                    .group = "run", .parts = "", .is_flag = std::is_same_v<Value, bool>});
    if (std::is_same_v<Value, bool> || (std::is_same_v<Value, std::string> && field.valid.choices.empty()))
      keys.back().valid_text.clear();
  });
  for_each_family(defaults, [&]<class Family>(std::string_view key, std::string_view what, const Family& family) {
    keys.push_back({.name = std::string(key), .help = std::string(what), .default_text = std::string(part_name(family)),
                    .valid_text = "valid: " + joined(part_names<Family>()), .group = std::string(key), .parts = ""});
  });
  for_each_key_of_parts([&]<class Part, class Owner, class Value>(std::string_view family, const Part& part, const Field<Owner, Value>& field) {
    const std::string text = shown(part.*field.member);
    const auto known = std::ranges::find(keys, field.name, &KeyInfo::name);
    if (known == keys.end()) {
      keys.push_back({.name = std::string(field.name), .help = std::string(field.help), .default_text = text,
                      .valid_text = field.valid.text(std::is_integral_v<Value>), .group = std::string(family),
                      .parts = std::string(Part::kName), .is_flag = std::is_same_v<Value, bool>});
      if (std::is_same_v<Value, std::string> && field.valid.choices.empty()) keys.back().valid_text.clear();
      return;
    }
    known->parts += ", " + std::string(Part::kName);
    if (known->default_text != text) known->default_text += "; " + std::string(Part::kName) + " " + text;
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
            const auto found = settings.find(field.name);
            if (found == settings.end()) return;
            assign(field, found->second, part);
            used.emplace(field.name);
          });
        },
        family);
  });
  for_each_field<Configuration>([&](const auto& field) {
    const auto found = settings.find(field.name);
    if (found == settings.end()) return;
    assign(field, found->second, configuration);
    used.emplace(field.name);
  });

  const auto names = key_names();
  for (const auto& [key, setting] : settings) {
    if (used.contains(key)) continue;
    if (std::ranges::find(names, key) == names.end()) throw unknown_key(key);
    if (!setting.from_command_line && replaced.contains(key)) continue;
    throw does_not_apply(key, configuration);
  }
  return configuration;
}

}  // namespace fedstride
