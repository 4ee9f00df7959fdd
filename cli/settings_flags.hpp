#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "experiments/configuration.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// Gives a subcommand a flag for each key that `wanted` accepts (all_keys), and collects what is given in `settings`,
/// marked as of the command line. Unknown flags are left to check_flags.
void add_settings_flags(CLI::App& command, Settings& settings, const std::function<bool(const KeyInfo&)>& wanted);

/// Throws Error (usage) that names the nearest flag if the command line had one the subcommand does not know.
void check_flags(const CLI::App& command);

/// The settings of a file (none if `path` is empty) with those of the command line on top.
Settings merged(const std::string& path, const Settings& from_command_line);

}  // namespace fedstride
