// The settings of a run, the parts of its families and the flags of commands, for signatures, docstrings and stubs.
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/manual/manual.hpp"
#include "core/field_words.hpp"
#include "core/text.hpp"
#include "python/bindings.hpp"
#include "python/words.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride::python {
namespace {

// Parts that call a function are passed as functions, not by name.
constexpr std::string_view kCallable = "callable";

py::object object_of(const SettingValue& value) {
  return std::visit([](const auto& one) { return py::object(py::cast(one)); }, value);
}

std::string kind_of(const SettingInfo& info) {
  switch (info.kind) {
    case SettingKind::flag:
      return "flag";
    case SettingKind::whole:
      return info.may_be_auto ? "whole or auto" : "whole";
    case SettingKind::number:
      return info.may_be_auto ? "number or auto" : "number";
    case SettingKind::choice:
      return "choice";
    case SettingKind::text:
      break;
  }
  return info.valid.place != Place::none ? "place" : "text";
}

py::list names_of(const std::vector<KnownName>& known) {
  py::list names;
  for (const KnownName& one : known)
    if (one.name != kCallable) names.append(py::make_tuple(one.name, in_python_words(one.summary)));
  return names;
}

py::dict described(const SettingInfo& info, const SettingValue& standard) {
  py::dict one;
  one["name"] = keyword_of(info.name);
  one["kind"] = kind_of(info);
  one["help"] = in_python_words(info.help);
  one["default"] = object_of(standard);
  one["valid"] = info.kind == SettingKind::flag || info.kind == SettingKind::text ? "" : in_python_words(info.valid_text());
  one["choices"] = std::vector<std::string>(info.choices.begin(), info.choices.end());
  return one;
}

// A setting of the run or of the first part that has it, with its default there.
struct Found {
  const SettingInfo* info;
  SettingValue standard;
};
std::map<std::string, Found> settings_by_name() {
  std::map<std::string, Found> all;
  const Configuration defaults;
  for (const SettingInfo& info : fedstride::settings_of<Configuration>())
    all.try_emplace(std::string(info.name), &info, info.get(&defaults));
  for (const ChosenPart* chosen : chosen_parts(defaults))
    for (const auto& part : chosen->family().parts())
      for (const SettingInfo& info : part->settings()) all.try_emplace(std::string(info.name), &info, part->get(info));
  return all;
}

// Returns every key of a run. If the default differs between parts, `default` is None and `default_text` explains it.
py::list settings() {
  const auto by_name = settings_by_name();
  py::list all;
  for (const KeyInfo& key : all_keys()) {
    py::dict one;
    const auto found = by_name.find(key.name);
    if (found == by_name.end()) {
      one["name"] = keyword_of(key.name);
      one["kind"] = "part";
      one["help"] = in_python_words(key.help);
      one["default"] = key.default_text;
      one["valid"] = "";
      py::list choices;
      for (const KnownName& known : key.known)
        if (known.name != kCallable) choices.append(known.name);
      one["choices"] = choices;
    } else {
      one = described(*found->second.info, found->second.standard);
      if (key.default_text.find("; ") != std::string::npos) one["default"] = py::none();
    }
    one["default_text"] = in_python_words(key.default_text);
    one["known"] = names_of(key.known);
    one["parts"] = key.parts;
    one["family"] = keyword_of(key.group);
    one["question"] = title_of(key.question);
    one["may_change"] = may_change(key.shapes);
    one["is_about_reading"] = is_about_reading(key.name) || is_about_normalizing(key.name);
    all.append(one);
  }
  return all;
}

py::list families() {
  const Configuration defaults;
  py::list all;
  for (const ChosenPart* chosen : chosen_parts(defaults)) {
    py::list parts;
    for (const auto& part : chosen->family().parts()) {
      if (part->name() == kCallable) continue;
      py::list own;
      for (const SettingInfo& info : part->settings()) own.append(described(info, part->get(info)));
      py::dict one;
      one["name"] = std::string(part->name());
      one["summary"] = in_python_words(part->summary());
      one["settings"] = own;
      parts.append(one);
    }
    py::dict family;
    family["key"] = keyword_of(chosen->family().key());
    family["purpose"] = in_python_words(chosen->family().purpose());
    family["parts"] = parts;
    all.append(family);
  }
  return all;
}

// Keys are full names without the program's name: "privacy epsilon".
void add_commands(const CommandInfo& command, py::dict& all) {
  py::list flags;
  for (const FlagInfo& flag : command.flags) {
    const std::string& name = flag.names.back();
    if (name == "--help" || name == "--help-all" || name == "--json" || !name.starts_with("--")) continue;
    py::dict one;
    one["name"] = keyword_of(name.substr(2));
    one["kind"] = flag.value.word.empty()                                                       ? "flag"
                  : flag.value.place != Place::none                                             ? "place"
                  : flag.value.word == "NUMBER"                                                 ? "number"
                  : !flag.value.known.empty() && flag.help.find("valid: ") != std::string::npos ? "choice"
                                                                                                : "text";
    one["help"] = in_python_words(flag.help);
    one["default"] = py::none();
    one["valid"] = "";
    py::list choices;
    for (const KnownName& known : flag.value.known) choices.append(known.name);
    one["choices"] = choices;
    flags.append(one);
  }
  const auto space = command.full_name.find(' ');
  if (space != std::string::npos) all[py::str(command.full_name.substr(space + 1))] = flags;
  for (const CommandInfo& subcommand : command.commands) add_commands(subcommand, all);
}

py::dict commands() {
  py::dict all;
  add_commands(describe_program(), all);
  return all;
}

// Throws Error (usage) unless this part of the family may have these settings.
void check_part(const std::string& family, const std::string& name, const py::dict& keywords) {
  Settings settings = settings_of(keywords);
  settings[key_of(family)] = {name, true};
  resolve_unchecked(settings);
}

}  // namespace

void register_schema(py::module_& module) {
  module.def("settings", settings);
  module.def("families", families);
  module.def("commands", commands);
  module.def("advice", [](const std::string& what, const std::string& name, const std::vector<std::string>& valid) {
    return advice(what, name, valid);
  });
  module.def("check_part", check_part, py::arg("family"), py::arg("name"), py::arg("settings"));
  module.def(
      "in_python_words", [](const std::string& text) { return in_python_words(text); }, py::arg("text"));
  module.def("rounded_up", &rounded_up, py::arg("value"));
}

}  // namespace fedstride::python
