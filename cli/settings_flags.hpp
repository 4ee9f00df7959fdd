#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/family.hpp"
#include "run/configuration.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// Gives a subcommand a flag for each key that `wanted` accepts (all_keys), and collects what is given in `settings`,
/// marked as of the command line. Unknown flags are left to check_flags.
void add_settings_flags(CLI::App& command, Settings& settings, const std::function<bool(const KeyInfo&)>& wanted);

/// --config FILE, whose settings those of the command line win over (merged).
void add_config_flag(CLI::App& command, std::string& path);

/// --data FILE
void add_data_flag(CLI::App& command, std::string& path);

/// --format, --label, --client-column, --targets: how files of the user's own are read.
void add_reading_flags(CLI::App& command, Settings& settings);
/// The values of these flags.
ReadSettings reading_settings(const Settings& settings);

/// --data-dir FOLDER
void add_data_folder_flag(CLI::App& command, std::string& path);

/// A flag that takes a number; its value is refused, as a setting's is, with Error (usage) unless it is valid.
/// Number is int or double.
template <class Number>
void add_number_flag(CLI::App& command, const std::string& name, Number& number, const Valid& valid, const std::string& help);

/// --json: the results as JSON on standard output, and nothing else there. Every command that prints results has it.
void add_json_switch(CLI::App& command, bool& on);

/// The flags of a command that carries out a run, in whatever processes: run, serve and launch.
struct RunFlags {
  Settings settings;
  std::string config;
  bool json = false;
};
/// --config, --json and a flag for every setting.
void add_run_flags(CLI::App& command, RunFlags& flags);

/// Has the command call `carry_out` once its flags have been checked (check_flags).
void when_called(CLI::App& command, std::function<void()> carry_out);

/// Throws Error (usage) that names the nearest flag if the command line had one the subcommand does not know, and one
/// that names the flag if a place to read or write is the empty text: a script's unset variable, most likely.
void check_flags(const CLI::App& command);

/// "fedstride data verify"
std::string full_name(const CLI::App& command);

/// The settings of a file (none if `path` is empty) with those of the command line on top.
Settings merged(const std::string& path, const Settings& from_command_line);

}  // namespace fedstride
