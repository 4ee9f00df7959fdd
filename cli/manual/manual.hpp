#pragma once

#include <string>
#include <vector>

#include "cli/flags.hpp"

namespace fedstride {

/// A flag or a positional argument, as described in the help.
struct FlagInfo {
  std::vector<std::string> names = {};  ///< "-h", "--help"; an argument has one name
  std::string help;
  std::string group;  ///< heading in the help; empty: hidden
  FlagValue value;    ///< a switch has no word
  bool needed = false;
  bool repeated = false;  ///< an argument that may be given several times
};

/// A command and its subcommands, as described in the help, from which completion is generated. CLI11 generates none.
struct CommandInfo {
  std::string name;            ///< "epsilon"
  std::string full_name = {};  ///< "fedstride privacy epsilon"
  std::string description = {};
  std::string footer = {};
  std::vector<FlagInfo> flags = {};
  std::vector<FlagInfo> arguments = {};
  std::vector<CommandInfo> commands = {};
};

CommandInfo describe(CLI::App& command);

/// The script that completes commands, flags and the values of flags in bash. `program` is the whole program.
std::string bash_completion(const CommandInfo& program);

/// Every setting with its meaning, valid values and default, in Markdown.
std::string settings_page();

}  // namespace fedstride
