#include "cli/settings_flags.hpp"

#include <CLI/CLI.hpp>

#include "core/text.hpp"

namespace fedstride {

void add_settings_flags(CLI::App& command, Settings& settings, const std::function<bool(const KeyInfo&)>& wanted) {
  command.allow_extras();
  for (const KeyInfo& key : all_keys()) {
    if (!wanted(key)) continue;
    const auto store = [&settings, name = key.name](std::variant<bool, std::int64_t, double, std::string> value) {
      settings[name] = {std::move(value), true};
    };
    std::string help = key.help;
    if (!key.parts.empty()) help += " (" + key.parts + ")";
    if (!key.valid_text.empty()) help += "; " + key.valid_text;
    if (!key.default_text.empty() && !key.is_flag) help += " [" + key.default_text + "]";
    CLI::Option* option =
        key.is_flag ? command.add_flag_function("--" + key.name, [store](std::int64_t) { store(true); }, help)
                    : command.add_option_function<std::string>("--" + key.name, [store](const std::string& text) { store(text); }, help);
    option->group(key.group == "run" ? "Run" : "Choice of " + key.group);
    if (!key.is_flag) option->type_name("")->option_text(key.group == "run" && key.valid_text.empty() ? "TEXT" : "VALUE");
  }
}

void check_flags(const CLI::App& command) {
  const auto unknown = command.remaining();
  if (unknown.empty()) return;
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options())
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
  const std::string given = unknown.front().substr(0, unknown.front().find('='));
  if (!given.starts_with("-")) throw usage_error("'" + given + "' was not expected after 'fedstride " + command.get_name() + "'");
  const auto near = nearest(given, flags);
  throw usage_error("flag '" + given + "' is unknown; " + (near.empty() ? "" : "did you mean '" + std::string(near) + "'? ") +
                    "'fedstride " + command.get_name() + " --help' lists them");
}

Settings merged(const std::string& path, const Settings& from_command_line) {
  Settings settings = path.empty() ? Settings{} : read_settings(path);
  for (const auto& [key, setting] : from_command_line) settings[key] = setting;
  return settings;
}

}  // namespace fedstride
