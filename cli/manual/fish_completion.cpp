#include <algorithm>
#include <utility>

#include "cli/manual/completion.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

std::string fish_quoted(std::string_view text) { return "'" + escaped(text, "\\'") + "'"; }

// " -x -a ..." of a flag, " -a ..." of an argument: names with their summaries, files or folders.
std::string fish_offer(const FlagValue& value, bool is_flag) {
  if (value.place == Place::file) return is_flag ? " -r -F" : " -F";
  const std::string exclusive = is_flag ? " -x" : "";
  if (value.place == Place::folder) return exclusive + " -a '(__fish_complete_directories (commandline -ct))'";
  std::string list;
  for (const KnownName& one : value.known) {
    list += (list.empty() ? "" : " ") + one.name;
    if (!one.summary.empty()) list += "\\t\"" + escaped(short_help(one.summary), "\\\"$") + "\"";
  }
  return list.empty() ? exclusive : exclusive + " -a " + fish_quoted(list);
}

// The commands that have a flag or an argument in the very same words, by those words: one line of the script for all of
// them, in the order in which they come first.
struct FishFlags {
  std::vector<std::pair<std::string, std::vector<std::string>>> lines;

  void add(const std::string& rest, const std::string& command) {
    const auto known = std::ranges::find(lines, rest, &std::pair<std::string, std::vector<std::string>>::first);
    (known == lines.end() ? lines.emplace_back(rest, std::vector<std::string>{}) : *known).second.push_back(command);
  }
};

// "privacy epsilon"; nothing for the program itself.
std::string fish_command(const CommandInfo& command) {
  const auto space = command.full_name.find(' ');
  return space == std::string::npos ? "" : command.full_name.substr(space + 1);
}

// Flags of a command that has commands stand before those alone.
void collect(const CommandInfo& command, FishFlags& at, FishFlags& within) {
  const std::string name = fish_command(command);
  for (const FlagInfo& flag : command.flags) {
    std::string rest;
    for (const std::string& word : flag.names) rest += word.starts_with("--") ? " -l " + word.substr(2) : " -s " + word.substr(1);
    if (!flag.value.word.empty()) rest += fish_offer(flag.value, true);
    (command.commands.empty() ? within : at).add(rest + " -d " + fish_quoted(short_help(flag.help)), name);
  }
  if (!command.arguments.empty())
    if (const std::string offer = fish_offer(command.arguments.front().value, false); !offer.empty()) within.add(offer, name);
  for (const CommandInfo& subcommand : command.commands) {
    at.add(" -a " + subcommand.name + " -d " + fish_quoted(short_help(subcommand.description)), name);
    collect(subcommand, at, within);
  }
}

std::string fish_lines(const FishFlags& flags, const std::string& condition) {
  std::string text;
  for (const auto& [rest, commands] : flags.lines) {
    std::string names;
    for (const std::string& name : commands) names += " \"" + name + "\"";
    text += "complete -c fedstride -n '" + condition + names + "'" + rest + "\n";
  }
  return text;
}

}  // namespace

std::string fish_completion(const CommandInfo& program) {
  FishFlags at, within;
  collect(program, at, within);
  return R"(# Completion of fedstride for fish; made by 'fedstride completion fish'.
# True if the words before the cursor begin with one of these commands.
function __fedstride_within
    set -l words (commandline -opc)
    set -e words[1]
    for command in $argv
        string match -q -- "$command *" "$words "; and return 0
    end
    return 1
end
# True if they are one of them and no more.
function __fedstride_at
    set -l words (commandline -opc)
    set -e words[1]
    contains -- "$words" $argv
end
complete -c fedstride -f
)" + fish_lines(at, "__fedstride_at") +
         fish_lines(within, "__fedstride_within");
}

}  // namespace fedstride
