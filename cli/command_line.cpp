#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/manual/manual.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/floating_point.hpp"
#include "core/program_name.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr const char* kDescription = "Federated learning with adaptive steps: exact, reproducible, and fast on a CPU.";

int complain(const std::string& message, int code) {
  std::fflush(stdout);
  // A message may quote a whole damaged file. The message's beginning says what is wrong, and its end what would be valid.
  constexpr std::size_t kBegin = 1500, kEnd = 400;
  std::string line = in_own_name(one_line(message));
  if (line.size() > kBegin + kEnd + 5) line.replace(kBegin, line.size() - kBegin - kEnd, " ... ");
  std::fprintf(stderr, "fedstride: %s\n", line.c_str());
  return code;
}

// For 'fedstride' without a command: prints where to start and returns the exit code.
int orientation() {
  std::fputs(
      in_own_name("fedstride simulates federated learning. Useful commands:\n"
                  "  fedstride run                 train on the built-in data; the results go to a new folder under runs/\n"
                  "  fedstride run --help          the most common settings\n"
                  "  fedstride data list           all data sets, and which are on this machine\n"
                  "  fedstride help                all commands; 'fedstride help privacy', for example, explains a subject\n")
          .c_str(),
      stderr);
  return 2;
}

// Follows the words of the command line to the command they name. Throws Error if there is no such command.
void check_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = &app;
  for (int i = 1; !command->get_subcommands({}).empty(); ++i) {
    const std::string full = full_name(*command);
    const std::vector<std::string> names = command_names(*command);
    if (i >= argc && command == &app) throw CLI::RuntimeError(orientation());
    if (i >= argc) throw usage_error("'" + full + "' needs a command: " + joined(names) + "; see '" + full + " --help'");
    const std::string word = argv[i];
    if (word == "-h" || word == "--help" || word == "--help-all" || word == "--version") return;
    if (word.starts_with("-"))
      throw usage_error("flag '" + word + "' is unknown; " + (word == "-v" || word == "-V" ? "did you mean '--version'? " : "") +
                        "'" + full + "' needs a command first; see '" + full + " --help'");
    if (std::ranges::find(names, word) == names.end()) throw unknown_command(word, names, full + " --help");
    command = command->get_subcommand(word);
  }
}

// CLI11's message, or our own if there is a better one.
std::string explained(const CLI::ParseError& error, CLI::App& app) {
  CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const std::string text = error.what();
  CLI::Option* option = command->get_option_no_throw(text.substr(0, text.find(':')));
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch) && option != nullptr)
    return needs_value(*command, *option);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError)) check_flags(*command);
  return text + "; see '" + full_name(*command) + " --help'";
}

// Flushes the output and returns the exit code: lost output, for example on a full disk, must not count as success.
int written() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return 0;
  return complain(std::string("cannot write to standard output: ") + std::strerror(errno), 1);
}

// Prints the help of the command named on the command line (--help, --help-all), or the version.
void print_help(const CLI::ParseError& error, CLI::App& app) {
  if (dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr) {
    app.exit(error);
    return;
  }
  CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const bool all = dynamic_cast<const CLI::CallForAllHelp*>(&error) != nullptr;
  std::cout << help_page(describe(*command), all ? Extent::all : Extent::usual, help_columns());
}

struct Command {
  std::string_view name;
  void (*add)(CLI::App& app);
  bool is_about_all = false;  ///< describes the other commands
};

constexpr Command kCommands[] = {{"run", add_run_command},
                                 {"sweep", add_sweep_command},
                                 {"tune", add_tune_command},
                                 {"report", add_report_command},
                                 {"explain", add_explain_command},
                                 {"export", add_export_command},
                                 {"evaluate", add_evaluate_command},
                                 {"predict", add_predict_command},
                                 {"verify", add_verify_command},
                                 {"certify", add_certify_command},
                                 {"replay", add_replay_command},
                                 {"partition", add_partition_command},
                                 {"devices", add_devices_command},
                                 {"data", add_data_command},
                                 {"bench", add_bench_command},
                                 {"privacy", add_privacy_command},
                                 {"launch", add_launch_command},
                                 {"serve", add_serve_command},
                                 {"join", add_join_command},
                                 {"certificates", add_certificates_command},
                                 {"help", add_help_command, true},
                                 {"completion", add_completion_command, true},
                                 {"manual", add_manual_command, true}};

// Adds all commands or, if that suffices, only the one with this name: creating all flags of all commands takes longer than the
// rest of startup. Commands are recreated for each command line, because they hold the values of their flags.
void add_commands(CLI::App& app, std::string_view only = "") {
  const BuildInfo build = build_info();
  app.set_version_flag("--version",
                       build.version + " (" + build.compiler + ", " + build.instruction_set + ", commit " + build.commit + ")");
  app.set_help_flag("-h,--help", "show this help");
  app.set_help_all_flag("--help-all", "show every flag");
  app.require_subcommand(1);
  // A flag may be repeated with the same value (check_flags). Subcommands inherit this; lists of values are not affected.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  const auto* const one = std::ranges::find(kCommands, only, &Command::name);
  const bool has_all = only != "--version" && (one == std::end(kCommands) || one->is_about_all);
  for (const Command& command : kCommands)
    if (has_all || command.name == only) command.add(app);
  // Set after adding the commands, which would otherwise inherit it.
  app.footer(
      "'fedstride help COMMAND' shows what a command does and its flags.\n"
      "Environment: FEDSTRIDE_DATA is the folder of the data sets. FEDSTRIDE_INSTRUCTIONS selects one of the builds in the\n"
      "Debian package: x86-64-v2, x86-64-v3 (AVX2) or x86-64-v4 (AVX-512); by default the best that the processor supports.\n"
      "Exit code: 0 on success, 1 on failure, 2 if the command line or a configuration is invalid, 130 if it was stopped and "
      "can\n"
      "be resumed.\n"
      "Example: fedstride run --dataset synthetic --clients 5 --rounds 10 --out runs/first");
}

bool takes_words(const CLI::App& command) {
  return std::ranges::any_of(command.get_options(), [](const CLI::Option* option) { return option->get_positional(); });
}

// True if the named command has all the flags given and no help for it is requested: then no other flags need be created.
bool has_flags(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (const auto names = command_names(*command); std::ranges::find(names, word) != names.end()) {
      command = command->get_subcommand(word);
    } else if (word.starts_with("-")) {
      const bool is_help = word == "-h" || word == "--help" || word == "--help-all";
      if (is_help ? command != &app : command->get_option_no_throw(word.substr(0, word.find('='))) == nullptr) return false;
    } else if (*argv[i - 1] != '-' && !takes_words(*command)) {
      return false;  // an unexpected word: the hint needs all flags
    }
  }
  return true;
}

std::unique_ptr<CLI::App> program_for(int argc, char** argv) {
  const auto make = [&] {
    auto app = std::make_unique<CLI::App>(kDescription, program_name());
    add_commands(*app, argc > 1 ? argv[1] : "");
    return app;
  };
  {
    const GivenFlagsOnly given(argc, argv);
    auto app = make();
    const auto* const named = std::ranges::find(kCommands, argc > 1 ? argv[1] : "", &Command::name);
    if ((named == std::end(kCommands) || !named->is_about_all) && has_flags(*app, argc, argv)) return app;
  }
  return make();
}

}  // namespace

int carry_out_command_line(int argc, char** argv) {
  const FloatingPointMode mode;
  std::vector<std::string> names;
  names.reserve(std::size(kCommands));
  for (const auto& command : kCommands) names.emplace_back(command.name);
  set_program_name(argc > 0 ? argv[0] : "", names);
  const std::unique_ptr<CLI::App> program = program_for(argc, argv);
  CLI::App& app = *program;
  try {
    check_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {  // the message has been printed
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw usage_error(explained(error, app));
    print_help(error, app);
  }
  return 0;
}

CommandInfo describe_program() {
  CLI::App app(kDescription, "fedstride");
  add_commands(app);
  return describe(app);
}

int command_line(int argc, char** argv) {
  if (const std::string missing = missing_instructions(); !missing.empty())
    return complain("this build needs " + missing + ", which this processor lacks; build the preset 'portable'", 1);
  try {
    const int code = carry_out_command_line(argc, argv);
    return code != 0 ? code : written();
  } catch (const Stopped& stopped) {
    return complain(stopped.what(), 130);
  } catch (const Error& error) {
    return complain(error.what(), error.exit_code());
  } catch (const std::bad_alloc&) {
    return complain("out of memory", 1);
  } catch (const std::exception& error) {
    return complain(error.what(), 1);
  }
}

}  // namespace fedstride
