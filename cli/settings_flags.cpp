#include "cli/settings_flags.hpp"

#include <CLI/CLI.hpp>

#include "cli/flag_values.hpp"
#include "core/parse_number.hpp"
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
    if (!key.parts.empty()) help += " (" + joined(key.parts) + ")";
    const bool chooses = key.group == key.name;  // a family's part: each with a line of its own
    if (!key.valid_text.empty() && !chooses) help += "; " + key.valid_text;
    if (!key.default_text.empty() && !key.is_flag) help += " [" + key.default_text + "]";
    std::size_t width = 0;
    for (const KnownName& part : key.known) width = std::max(width, part.name.size());
    if (chooses)
      for (const KnownName& part : key.known)
        help += "\n  " + part.name + std::string(width + 2 - part.name.size(), ' ') + part.summary;
    CLI::Option* option = key.is_flag ? command.add_flag_function(
                                            "--" + key.name, [store](std::int64_t count) { store(count > 0); }, help)
                                      : command.add_option_function<std::string>(
                                            "--" + key.name, [store](const std::string& text) { store(text); }, help);
    option->group(key.group == "run" ? "Run" : "Choice of " + key.group);
    if (key.is_flag) {
      check_switch(*option);
    } else {
      const char* word = key.place == Place::file     ? "FILE"
                         : key.place == Place::folder ? "FOLDER"
                         : key.is_number              ? "NUMBER"
                         : key.known.empty()          ? "TEXT"
                                                      : "NAME";
      takes(*option, {.word = word, .place = key.place, .known = key.known});
    }
  }
}

void add_config_flag(CLI::App& command, std::string& path) {
  CLI::Option& option = *command.add_option("--config", path, "TOML file with the flags' names as keys; flags win over it");
  takes(option, Place::file);
  option.group("Run");
}

void add_json_switch(CLI::App& command, bool& on) {
  add_switch(command, "--json", on, "print the results as JSON, and nothing else");
}

void add_run_flags(CLI::App& command, RunFlags& flags) {
  add_config_flag(command, flags.config);
  add_json_switch(command, flags.json);
  command.get_option("--json")->group("Run");
  add_settings_flags(command, flags.settings, [](const KeyInfo&) { return true; });
}

void when_called(CLI::App& command, std::function<void()> carry_out) {
  command.callback([&command, carry_out = std::move(carry_out)] {
    check_flags(command);
    carry_out();
  });
}

void add_data_folder_flag(CLI::App& command, std::string& path) {
  const auto settings = settings_of<Configuration>();
  const auto known = std::ranges::find(settings, "data-dir", &SettingInfo::name);
  takes(*command.add_option("--data-dir", path, std::string(known->help)), Place::folder);
}

void add_data_flag(CLI::App& command, std::string& path) {
  const auto settings = settings_of<Configuration>();
  const auto known = std::ranges::find(settings, "data", &SettingInfo::name);
  takes(*command.add_option("--data", path, std::string(known->help)), Place::file);
}

void add_reading_flags(CLI::App& command, Settings& settings) {
  add_settings_flags(command, settings,
                     [](const KeyInfo& key) { return is_about_reading(key.name) || is_about_normalising(key.name); });
}

ReadSettings reading_settings(const Settings& settings) {
  Settings with_data = settings;
  with_data["data"] = {std::string("-"), true};  // which these settings go with
  return data_options(resolve(with_data)).read;
}

template <class Number>
void add_number_flag(CLI::App& command, const std::string& name, Number& number, const Valid& valid, const std::string& help) {
  const auto read = [&number, valid, name](const std::string& text) {
    if (!parse_number(text, number) || !valid.admits(static_cast<double>(number)))
      throw usage_error(name.substr(2) + " is '" + text + "'; it must be " + valid.text(std::is_integral_v<Number>));
  };
  takes(*command.add_option_function<std::string>(
            name, read, help + "; " + valid.text(std::is_integral_v<Number>) + " [" + number_text(number) + "]"),
        {.word = "NUMBER"});
}
template void add_number_flag(CLI::App&, const std::string&, int&, const Valid&, const std::string&);
template void add_number_flag(CLI::App&, const std::string&, double&, const Valid&, const std::string&);

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + command.get_name();
}

void check_flags(const CLI::App& command) {
  for (const std::string name :
       {"--config", "--resume", "--out", "--data", "--manifest", "--url", "--composition", "--tensorboard"}) {
    const CLI::Option* option = command.get_option_no_throw(name);
    if (option != nullptr && option->count() > 0 && option->results().back().empty())
      throw usage_error(name.substr(2) + " is ''; it must name a place, or the flag be left out");
  }
  const auto unknown = command.remaining();
  if (unknown.empty()) return;
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options())
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
  const std::string given = unknown.front().substr(0, unknown.front().find('='));
  const std::string full = full_name(command);
  if (!given.starts_with("-"))
    throw usage_error("'" + given + "' was not expected after '" + full + "'; see '" + full + " --help'");
  const auto near = nearest(given, flags);
  throw usage_error("flag '" + given + "' is unknown; " + (near.empty() ? "" : "did you mean '" + std::string(near) + "'? ") +
                    "'" + full + " --help' lists them");
}

Settings merged(const std::string& path, const Settings& from_command_line) {
  Settings settings = path.empty() ? Settings{} : read_settings(path);
  for (const auto& [key, setting] : from_command_line) settings[key] = setting;
  return settings;
}

}  // namespace fedstride
