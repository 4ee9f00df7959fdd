#pragma once

#include <cstddef>
#include <string>
#include <string_view>
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

/// The flags that a help page shows: the common ones, or all.
enum class Extent { usual, all };

/// Returns the text of --help (Extent::usual) or --help-all (Extent::all), for a terminal of this many columns.
std::string help_page(const CommandInfo& command, Extent extent, std::size_t columns);

/// An entry of a list: `head` in the first column and the wrapped text to its right, or below it on a narrow terminal.
std::string help_entry(const std::string& head, const std::string& text, std::size_t columns);
/// The entry of a flag; with Extent::all, each of its named values gets its own line.
std::string help_entry(const FlagInfo& flag, Extent extent, std::size_t columns);

/// The width in columns of a help page on standard output.
std::size_t help_columns();

/// The subjects that 'fedstride help SUBJECT' explains.
std::vector<std::string> subject_names();

/// The page of a subject, one screen long: text, choices, flags, an example, and further reading. Empty if there is no such
/// subject.
std::string subject_page(std::string_view name, const CommandInfo& program, std::size_t columns);

/// The subject whose page has this key; empty if none has.
std::string subject_of(const KeyInfo& key);

/// The example of a subject: one command line.
std::string subject_example(std::string_view name);

}  // namespace fedstride
