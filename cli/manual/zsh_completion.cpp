#include <algorithm>

#include "cli/manual/completion.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

// Between single quotes.
std::string zsh_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

std::string zsh_function(const CommandInfo& command) {
  std::string name = "_" + command.full_name;
  std::ranges::replace(name, ' ', '_');
  return name;
}

// The action of _arguments for a value: ":word:action".
std::string zsh_action(const FlagValue& value) {
  std::string action = " ";
  if (value.place == Place::file) action = "_files";
  if (value.place == Place::folder) action = "_files -/";
  if (!value.known.empty()) {
    action = "((";
    for (const KnownName& one : value.known) {
      action += (action.ends_with('(') ? "" : " ") + escaped(one.name, ":");
      // _arguments takes the colons apart, then the shell reads the text between double quotes.
      if (!one.summary.empty()) action += "\\:\"" + escaped(escaped(short_help(one.summary), "\\\"$`"), ":") + "\"";
    }
    action += "))";
  }
  return ":" + escaped(value.word, ":") + ":" + action;
}

std::string zsh_flag(const FlagInfo& flag) {
  const std::string help = "[" + escaped(short_help(flag.help), "\\[]:") + "]";
  if (flag.names.size() == 1)
    return zsh_quoted(flag.names.front() + (flag.value.word.empty() ? help : "=" + help + zsh_action(flag.value)));
  // Several names of one switch exclude each other.
  return "'(" + joined(flag.names, " ") + ")'{" + joined(flag.names, ",") + "}" + zsh_quoted(help);
}

std::string zsh_functions(const CommandInfo& command) {
  std::string text = zsh_function(command) + "() {\n";
  const bool branches = !command.commands.empty();
  if (branches) text += "  local curcontext=$curcontext state line\n  typeset -A opt_args\n";
  text += branches ? "  _arguments -C" : "  _arguments";
  for (const FlagInfo& flag : command.flags) text += " \\\n    " + zsh_flag(flag);
  for (const FlagInfo& argument : command.arguments)
    text += " \\\n    " + zsh_quoted((argument.repeated ? "*" : "") + zsh_action(argument.value));
  if (!branches) return text + "\n}\n";
  text += " \\\n    '1: :->command' \\\n    '*:: :->rest'\n  case $state in\n    command)\n      local -a commands=(\n";
  for (const CommandInfo& subcommand : command.commands)
    text += "        " + zsh_quoted(escaped(subcommand.name, ":") + ":" + short_help(subcommand.description)) + "\n";
  text += "      )\n      _describe -t commands command commands ;;\n    rest)\n      case $words[1] in\n";
  for (const CommandInfo& subcommand : command.commands)
    text += "        " + subcommand.name + ") " + zsh_function(subcommand) + " ;;\n";
  text += "      esac ;;\n  esac\n}\n";
  for (const CommandInfo& subcommand : command.commands) text += zsh_functions(subcommand);
  return text;
}

}  // namespace

std::string zsh_completion(const CommandInfo& program) {
  // Read by the completion system the file is the body of _fedstride; sourced it only makes _fedstride known.
  return "#compdef fedstride\n# Completion of fedstride for zsh; made by 'fedstride completion zsh'.\n" + zsh_functions(program) +
         "if [[ $funcstack[1] == _fedstride ]]; then\n  _fedstride \"$@\"\nelse\n  compdef _fedstride fedstride\nfi\n";
}

}  // namespace fedstride
