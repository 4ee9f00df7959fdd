#include <sstream>

#include "core/files.hpp"
#include "core/text.hpp"
#include "run/configuration.hpp"
#include "run/parse_toml.hpp"

namespace fedstride {
namespace {

std::string quoted(const std::string& text) {
  std::ostringstream stream;
  stream << toml::value<std::string>(text);
  return stream.str();
}

std::string written(bool value) { return value ? "true" : "false"; }
std::string written(const std::string& value) { return quoted(value); }
std::string written(double value) {
  const std::string text = number_text(value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}
template <class Integer>
std::string written(Integer value) {
  return std::to_string(value);
}

}  // namespace

Settings parse_settings(std::string_view text, const std::string& name) {
  const toml::table table = parse_toml(text, name);
  Settings settings;
  std::vector<std::string> names;
  for (const auto& key : all_keys()) names.push_back(key.name);
  for (auto&& [key, node] : table) {
    const std::string where = std::string(key.str());
    const std::string line = "'" + name + "', line " + std::to_string(node.source().begin.line) + ": ";
    if (node.is_table())
      throw usage_error(line + "table '" + where +
                        "' is not valid; keys stand for themselves, without [tables] and dots");
    if (std::ranges::find(names, where) == names.end()) throw usage_error(line + unknown_key(where).what());
    Setting setting;
    if (const auto* boolean = node.as_boolean()) {
      setting.value = boolean->get();
    } else if (const auto* integer = node.as_integer()) {
      setting.value = integer->get();
    } else if (const auto* number = node.as_floating_point()) {
      setting.value = number->get();
    } else if (const auto* string = node.as_string()) {
      setting.value = string->get();
    } else {
      throw usage_error(line + where + " must be one value: a number, a text, true or false");
    }
    settings.emplace(where, setting);
  }
  return settings;
}

Settings read_settings(const std::string& path) { return parse_settings(read_file(path, 1 << 20), path); }

std::string write_settings(const Configuration& configuration, const Settings& settings) {
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    text += std::string(key) + " = " + value + '\n';
  };
  for_each_field<Configuration>([&](const auto& field) {
    if (is_about_output(field.name)) {
      const auto found = settings.find(field.name);
      if (found == settings.end() || found->second.from_command_line) return;
    }
    line(field.name, written(configuration.*field.member));
  });
  for_each_family(configuration, [&](std::string_view key, std::string_view, const auto& family) {
    line(key, quoted(std::string(part_name(family))));
    std::visit(
        [&]<class Part>(const Part& part) {
          for_each_field<Part>([&](const auto& field) { line(field.name, written(part.*field.member)); });
        },
        family);
  });
  return text;
}

}  // namespace fedstride
