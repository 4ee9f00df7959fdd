#include <CLI/CLI.hpp>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/manual/completion.hpp"
#include "cli/manual/manual_page.hpp"
#include "cli/settings_flags.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/parse_number.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

CLI::App& whole_program(CLI::App& command) {
  return command.get_parent() == nullptr ? command : whole_program(*command.get_parent());
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : command.get_subcommands({})) names.push_back(subcommand->get_name());
  return names;
}

void show_help(CLI::App& program, const std::vector<std::string>& words) {
  CLI::App* command = &program;
  for (const std::string& word : words) {
    const std::vector<std::string> names = command_names(*command);
    if (names.empty()) throw usage_error("'" + full_name(*command) + "' has no commands; 'fedstride help' lists all");
    if (std::ranges::find(names, word) == names.end()) throw usage_error(unknown_name("command", word, names));
    command = command->get_subcommand(word);
  }
  std::cout << command->get_formatter()->make_help(command, full_name(*command), CLI::AppFormatMode::Normal);
}

// As 'fedstride help' takes them: every command's name, and nothing else of it.
CommandInfo names_alone(const CommandInfo& command, const std::string& before) {
  CommandInfo names{.name = command.name,
                    .full_name = before + " " + command.name,
                    .description = command.description,
                    .footer = {},
                    .flags = {},
                    .arguments = {},
                    .commands = {}};
  for (const CommandInfo& subcommand : command.commands) names.commands.push_back(names_alone(subcommand, names.full_name));
  return names;
}

CommandInfo to_complete(CLI::App& program) {
  CommandInfo whole = describe(program);
  for (CommandInfo& command : whole.commands) {
    if (command.name != "help") continue;
    command.arguments.clear();
    for (const CommandInfo& other : whole.commands)
      if (other.name != "help") command.commands.push_back(names_alone(other, command.full_name));
  }
  return whole;
}

// Today is no part of what is made: the same program writes the same pages. A builder of packages names the date.
std::string page_date() {
  const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
  if (epoch == nullptr || *epoch == '\0') return {};
  std::int64_t seconds = 0;
  const std::string_view text = epoch;
  const bool is_number = parse_number(text, seconds);
  std::tm date{};
  const std::time_t time = seconds;
  if (!is_number || gmtime_r(&time, &date) == nullptr)
    throw usage_error("SOURCE_DATE_EPOCH is '" + std::string(text) + "'; it must be a whole number of seconds since 1970");
  char line[32];
  std::strftime(line, sizeof line, "%Y-%m-%d", &date);
  return line;
}

void write_pages(const CommandInfo& command, const std::filesystem::path& folder, const std::string& date) {
  write_file(folder / manual_page_name(command), manual_page(command, build_info().version, date));
  for (const CommandInfo& subcommand : command.commands) write_pages(subcommand, folder, date);
}

void write_manual(CLI::App& program, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw failure("cannot make folder '" + folder.string() + "': " + error.message());
  write_pages(describe(program), folder, page_date());
}

}  // namespace

void add_help_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("help", "The help of a command, as its --help prints it.");
  command.footer("Example: fedstride help privacy epsilon");
  command.allow_extras();
  auto words = std::make_shared<std::vector<std::string>>();
  command.add_option("COMMAND", *words, "the words of the command; none: of the whole program")->type_name("");
  command.callback([words, &command] {
    check_flags(command);
    show_help(whole_program(command), *words);
  });
}

void add_completion_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("completion", "Print a script that completes the command line in a shell.");
  command.footer(
      "The Debian package has the scripts in place. Elsewhere a shell reads one when it starts: bash and zsh by\n"
      "  source <(fedstride completion bash)\n"
      "and fish by\n"
      "  fedstride completion fish | source\n"
      "Example: fedstride completion bash > ~/.local/share/bash-completion/completions/fedstride");
  command.allow_extras();
  using Script = std::string (*)(const CommandInfo&);
  static constexpr std::pair<const char*, Script> kShells[] = {
      {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};
  auto shell = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const auto& [name, script] : kShells) names.emplace_back(name);
  takes(*command.add_option("SHELL", *shell, "valid: " + joined(names))->required(), {.word = "SHELL", .known = as_known(names)});
  command.callback([shell, names, &command] {
    check_flags(command);
    for (const auto& [name, script] : kShells)
      if (*shell == name) {
        std::cout << script(to_complete(whole_program(command)));
        return;
      }
    throw usage_error(unknown_name("shell", *shell, names));
  });
}

void add_manual_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("manual", "Write the manual pages: one for each command, for man.");
  command.footer(
      "The date on the pages is that of $SOURCE_DATE_EPOCH, or there is none.\n"
      "Example: fedstride manual --out ~/.local/share/man/man1");
  command.allow_extras();
  auto folder = std::make_shared<std::string>();
  takes(*command.add_option("--out", *folder, "folder to write them to; it is made if it is not there")->required(),
        Place::folder);
  command.callback([folder, &command] {
    check_flags(command);
    write_manual(whole_program(command), *folder);
  });
}

std::string escaped(std::string_view text, std::string_view letters, std::string_view escape) {
  std::string result;
  for (const char letter : text) {
    if (letters.find(letter) != std::string_view::npos) result += escape;
    result += letter;
  }
  return result;
}

}  // namespace fedstride
