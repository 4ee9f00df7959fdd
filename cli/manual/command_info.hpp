#pragma once

#include <string>
#include <vector>

#include "cli/flag_values.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// A flag, or an argument that has no flag, as the help describes it.
struct FlagInfo {
  std::vector<std::string> names;  ///< "-h", "--help"; of an argument its one name
  std::string help;
  std::string group;  ///< heading in the help; empty: the help leaves it out
  FlagValue value;    ///< no word: a switch
  bool needed = false;
  bool repeated = false;  ///< an argument that may stand several times
};

/// A command as the help describes it, with its commands: what manual pages and completion are made of.
struct CommandInfo {
  std::string name;       ///< "epsilon"
  std::string full_name;  ///< "fedstride privacy epsilon"
  std::string description;
  std::string footer;
  std::vector<FlagInfo> flags;
  std::vector<FlagInfo> arguments;
  std::vector<CommandInfo> commands;
};

CommandInfo describe(CLI::App& command);

/// Up to the first semicolon or bracket, without a full stop, so many characters at most: for a list to choose from.
std::string short_help(const std::string& help, std::size_t longest = 90);

}  // namespace fedstride
