#include "core/field_words.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sim/settings/configuration.hpp"
#include "sim/settings/document.hpp"

namespace fedstride {
namespace {

std::string written(const SettingValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return toml_string(*text);
  const std::string text = value_text(value);
  const bool looks_whole = std::holds_alternative<double>(value) && text.find_first_of(".en") == std::string::npos;
  return looks_whole ? text + ".0" : text;
}

}  // namespace

Settings parse_settings(std::string_view toml, const std::string& name) {
  const Document document = parse_document(toml, name);
  Settings settings;
  for (const auto& [key, node] : *document.root.table()) {
    if (node.table() != nullptr && (key == "experiment" || key == "sweep"))
      throw document.wrong(node, "table [" + key + "] makes this an experiment file; run it with: fedstride sweep " + name);
    if (node.table() != nullptr)
      throw document.wrong(node, "table '" + key + "' is not valid; use plain keys, without [tables] or dots");
    if (!node.is_scalar())
      throw document.wrong(node, key + " must be one value: a number, a text, true or false; " + std::string(kWhereListsGo));
    if (find_key(key) == nullptr) throw document.wrong(node, unknown_key(key).what());
    settings.emplace(key, node.setting());
  }
  return settings;
}

Settings read_settings(const std::string& path) { return parse_settings(read_text_file(path, 1 << 20), path); }

std::string write_settings(const Configuration& configuration, const Settings& settings) {
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) { text += std::string(key) + " = " + value + '\n'; };
  for (const SettingInfo& info : settings_of<Configuration>()) {
    if (shapes_output(info.shapes)) {
      const auto found = settings.find(info.name);
      if (found == settings.end() || found->second.from_command_line) continue;
    }
    line(info.name, written(info.get(&configuration)));
  }
  for (const ChosenPart* chosen : chosen_parts(configuration)) {
    line(chosen->family().key(), toml_string(std::string(chosen->name())));
    for (const SettingInfo& info : chosen->part().settings()) line(info.name, written(chosen->part().get(info)));
  }
  return text;
}

std::string identity_settings(const Configuration& configuration) {
  const Configuration defaults;
  std::string text;
  const auto add = [&](std::string_view key, const SettingValue& value, const SettingValue& standard) {
    if (value != standard) text += std::string(key) + " = " + written(value) + '\n';
  };
  for (const SettingInfo& info : settings_of<Configuration>())
    if (!shapes_output(info.shapes)) add(info.name, info.get(&configuration), info.get(&defaults));
  const auto standard = chosen_parts(defaults);
  for (std::size_t i = 0; const ChosenPart* chosen : chosen_parts(configuration)) {
    const PartFamily& family = chosen->family();
    add(family.key(), std::string(chosen->name()), std::string(standard[i++]->name()));
    const auto fresh = family.make(chosen->name());
    for (const SettingInfo& info : chosen->part().settings()) add(info.name, chosen->part().get(info), fresh->get(info));
  }
  return text;
}

}  // namespace fedstride
