#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/manual/manual.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

CLI::App& whole_program(CLI::App& command) {
  return command.get_parent() == nullptr ? command : whole_program(*command.get_parent());
}

// What a word is that names a setting or one of its values: "dirichlet is --partition dirichlet; see ..."; empty if it does not.
std::string as_setting(const std::string& word) {
  for (const KeyInfo& key : all_keys()) {
    const bool is_value = std::ranges::find(key.known, word, &KnownName::name) != key.known.end();
    if (!is_value && key.name != word) continue;
    const std::string subject = subject_of(key);
    return word + " is --" + key.name + (is_value ? " " + word : "") + "; see 'fedstride " +
           (subject.empty() ? "run --help-all" : "help " + subject) + "'";
  }
  return {};
}

void show_help(CLI::App& program, const std::vector<std::string>& words) {
  if (words.size() == 1) {
    const std::string page = subject_page(words.front(), describe(program), help_columns());
    if (!page.empty()) return void(std::cout << page);
  }
  CLI::App* command = &program;
  for (const std::string& word : words) {
    std::vector<std::string> names = command_names(*command);
    if (names.empty()) throw usage_error("'" + full_name(*command) + "' has no subcommands; 'fedstride help' lists all commands");
    if (std::ranges::find(names, word) == names.end()) {
      if (command == &program) {
        if (const std::string what = as_setting(word); !what.empty()) throw usage_error(what);
        for (const std::string& subject : subject_names())
          if (std::ranges::find(names, subject) == names.end()) names.push_back(subject);
      }
      throw unknown_command(word, names, full_name(*command) + " --help");
    }
    command = command->get_subcommand(word);
  }
  std::cout << help_page(describe(*command), Extent::usual, help_columns());
}

// The names of the command and its subcommands, without flags: the words that can follow 'fedstride help'.
CommandInfo names_only(const CommandInfo& command, const std::string& before) {
  CommandInfo names{.name = command.name, .full_name = before + " " + command.name, .description = command.description};
  for (const CommandInfo& subcommand : command.commands) names.commands.push_back(names_only(subcommand, names.full_name));
  return names;
}

CommandInfo to_complete(CLI::App& program) {
  CommandInfo whole = describe(program);
  for (CommandInfo& command : whole.commands) {
    if (command.name != "help") continue;
    command.arguments.clear();
    for (const CommandInfo& other : whole.commands)
      if (other.name != "help") command.commands.push_back(names_only(other, command.full_name));
    for (const std::string& subject : subject_names())
      if (std::ranges::find(command.commands, subject, &CommandInfo::name) == command.commands.end())
        command.commands.push_back(names_only({.name = subject}, command.full_name));
  }
  return whole;
}

}  // namespace

void add_help_command(CLI::App& app) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App& command = add_command(app, "help", "Explain a subject, or show a command's help.",
                                  "Subjects: " + joined(subject_names()) + ". Example: fedstride help privacy",
                                  [words](CLI::App& called) { show_help(whole_program(called), *words); });
  command.add_option("COMMAND", *words, "a subject, or the words of a command (default: the whole program)")->type_name("");
}

void add_completion_command(CLI::App& app) {
  static const std::vector<std::string> kNames{"bash"};
  const auto shell = std::make_shared<std::string>();
  CLI::App& command = add_command(app, "completion", "Print a shell's completion script.",
                                  "The Debian package installs the script. Otherwise load it when the shell starts, with\n"
                                  "  source <(fedstride completion bash)\n"
                                  "Example: fedstride completion bash > ~/.local/share/bash-completion/completions/fedstride",
                                  [shell](CLI::App& called) {
                                    if (*shell != kNames.front()) throw usage_error(unknown_name("shell", *shell, kNames));
                                    std::cout << bash_completion(to_complete(whole_program(called)));
                                  });
  add_flag(command, "SHELL", *shell, {.word = "SHELL", .known = as_known(kNames)}, "valid: " + joined(kNames), Needed::yes);
}

void add_manual_command(CLI::App& app) {
  const auto settings = std::make_shared<std::string>();
  CLI::App& command =
      add_command(app, "manual", "Write the list of all settings.", "Example: fedstride manual --settings settings.md",
                  [settings](CLI::App&) { write_file(*settings, settings_page()); });
  add_flag(command, "--settings", *settings, Place::output, "Markdown file for the list of all settings", Needed::yes);
}

}  // namespace fedstride
