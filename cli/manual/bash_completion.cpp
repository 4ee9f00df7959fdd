#include <algorithm>
#include <map>

#include "cli/manual/completion.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

std::string bash_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

std::string bash_names(const std::vector<KnownName>& known) {
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const KnownName& one : known) names.push_back(one.name);
  return joined(names, " ");
}

// The words offered for a value, as assignments of the script.
std::string bash_offer(const FlagValue& value) {
  if (value.place == Place::file) return "kind=file";
  if (value.place == Place::folder) return "kind=folder";
  return value.known.empty() ? "kind=nothing" : "kind=names names=" + bash_quoted(bash_names(value.known));
}

struct BashCases {
  std::vector<std::string> commands;                       ///< "fedstride data list"
  std::map<std::string, std::vector<std::string>> values;  ///< by what is offered: "fedstride run --optimizer", ...
  std::map<std::string, std::vector<std::string>> words;   ///< by what is offered where no flag stands before
  std::map<std::string, std::vector<std::string>> flags;

  void add(const CommandInfo& command) {
    if (command.full_name.find(' ') != std::string::npos) commands.push_back(command.full_name);
    std::vector<KnownName> names;
    for (const FlagInfo& flag : command.flags)
      for (const std::string& name : flag.names) {
        names.push_back({name});
        if (!flag.value.word.empty()) values[bash_offer(flag.value)].push_back(command.full_name + " " + name);
      }
    flags["kind=names names=" + bash_quoted(bash_names(names))].push_back(command.full_name);
    if (!command.arguments.empty()) words[bash_offer(command.arguments.front().value)].push_back(command.full_name);
    names.clear();
    for (const CommandInfo& subcommand : command.commands) {
      names.push_back({subcommand.name});
      add(subcommand);
    }
    if (!names.empty()) words["kind=names names=" + bash_quoted(bash_names(names))].push_back(command.full_name);
  }
};

std::string bash_pattern(const std::vector<std::string>& texts, const std::string& indent) {
  std::string pattern;
  for (const std::string& text : texts) pattern += (pattern.empty() ? indent : " | \\\n" + indent) + bash_quoted(text);
  return pattern + ")";
}

std::string bash_case(const std::map<std::string, std::vector<std::string>>& cases, const std::string& indent) {
  std::string text;
  for (const auto& [offer, where] : cases) text += bash_pattern(where, indent) + "\n" + indent + "  " + offer + " ;;\n";
  return text;
}

}  // namespace

std::string bash_completion(const CommandInfo& program) {
  BashCases cases;
  cases.add(program);
  return R"(# Completion of fedstride for bash; made by 'fedstride completion bash'.
_fedstride() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} glued='' command=fedstride
  local kind='' names='' i
  # --flag=value is three words, unless '=' is taken out of COMP_WORDBREAKS.
  if [[ $current == = ]]; then
    current=''
  elif [[ $before == = ]] && ((COMP_CWORD > 1)); then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == --*=* ]]; then
    before=${current%%=*} glued=${current%%=*}= current=${current#*=}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${COMP_WORDS[i]}" in
)" + bash_pattern(cases.commands, "      ") +
         R"(
        command+=" ${COMP_WORDS[i]}" ;;
      *) break ;;
    esac
  done
  case "$command $before" in
)" + bash_case(cases.values, "    ") +
         R"(  esac
  if [[ -z $kind && $current != -* ]]; then
    case $command in
)" + bash_case(cases.words, "      ") +
         R"(    esac
  fi
  if [[ -z $kind ]]; then
    case $command in
)" + bash_case(cases.flags, "      ") +
         R"(    esac
  fi
  COMPREPLY=()
  case $kind in
    names) mapfile -t COMPREPLY < <(compgen -P "$glued" -W "$names" -- "$current") ;;
    file)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -P "$glued" -f -- "$current") ;;
    folder)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -P "$glued" -d -- "$current") ;;
  esac
}
complete -F _fedstride fedstride
)";
}

}  // namespace fedstride
