#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "cli/commands.hpp"
#include "cli/settings_flags.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/floating_point.hpp"
#include "core/one_line.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"

namespace {

int complain(const std::string& message, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "fedstride: %s\n", fedstride::one_line(message).c_str());
  return code;
}

// Follows the words of the command line down to the command they name. Throws Error if they name none.
void check_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = &app;
  for (int i = 1; !command->get_subcommands({}).empty(); ++i) {
    const std::string full = fedstride::full_name(*command);
    std::vector<std::string> names;
    for (const CLI::App* subcommand : command->get_subcommands({})) names.push_back(subcommand->get_name());
    if (i >= argc)
      throw fedstride::usage_error("'" + full + "' needs a command: " + fedstride::joined(names) + "; see '" + full + " --help'");
    const std::string word = argv[i];
    if (word == "-h" || word == "--help" || word == "--version") return;
    if (word.starts_with("-"))
      throw fedstride::usage_error("flag '" + word + "' is unknown; '" + full +
                                   "' needs a command first: " + fedstride::joined(names));
    if (std::ranges::find(names, word) == names.end())
      throw fedstride::usage_error(fedstride::unknown_name("command", word, names));
    command = command->get_subcommand(word);
  }
}

// CLI11's message, or this program's own if CLI11's leaves out the words typed.
std::string explained(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  std::string text = error.what();
  const std::string name = text.substr(0, text.find(':'));
  const CLI::Option* option = command->get_option_no_throw(name);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch) && option != nullptr)
    text = "flag '" + name + "' needs a value";
  return text + "; see '" + fedstride::full_name(*command) + " --help'";
}

// Output that did not get to where it was sent, to a full disk for instance, must not pass for success.
int written() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return 0;
  return complain(std::string("cannot write to standard output: ") + std::strerror(errno), 1);
}

// All commands, made anew for each command line: what they were told lies in them.
void add_commands(CLI::App& app) {
  const fedstride::BuildInfo build = fedstride::build_info();
  app.set_version_flag("--version",
                       build.version + " (" + build.compiler + ", " + build.instruction_set + ", commit " + build.commit + ")");
  app.require_subcommand(1);
  // A flag given twice: the last wins. Commands take this over, a list of values is not affected.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  fedstride::add_run_command(app);
  fedstride::add_sweep_command(app);
  fedstride::add_report_command(app);
  fedstride::add_export_command(app);
  fedstride::add_evaluate_command(app);
  fedstride::add_partition_command(app);
  fedstride::add_data_command(app);
  fedstride::add_bench_command(app);
  fedstride::add_privacy_command(app);
  fedstride::add_launch_command(app);
  fedstride::add_serve_command(app);
  fedstride::add_join_command(app);
  fedstride::add_certificates_command(app);
  fedstride::add_help_command(app);
  fedstride::add_completion_command(app);
  fedstride::add_manual_command(app);
  // After the commands, which would begin with this footer as theirs.
  app.footer(
      "'fedstride help COMMAND' says what a command does and all its flags.\n"
      "Environment: FEDSTRIDE_DATA is the folder of the data sets. FEDSTRIDE_INSTRUCTIONS chooses among the builds of the\n"
      "Debian package: x86-64-v2, x86-64-v3 (AVX2) or x86-64-v4 (AVX-512); if it is not set, the best that the processor\n"
      "can carry out.\n"
      "Exit code: 0 if all went well, 1 if something failed, 2 if the command line, a configuration or a file of settings\n"
      "is not valid, 130 if it was stopped and can go on.\n"
      "Example: fedstride run --dataset synthetic --clients 5 --rounds 10 --out runs/first");
}

}  // namespace

int fedstride::carry_out_command_line(int argc, char** argv) {
  const fedstride::FloatingPointMode mode;
  CLI::App app("Federated learning with adaptive steps: exact, reproducible, fast on a CPU.", "fedstride");
  add_commands(app);
  try {
    check_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {  // what there is to say has been said
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw fedstride::usage_error(explained(error, app));
    app.exit(error);  // --help, --version
  }
  return 0;
}

int fedstride::command_line(int argc, char** argv) {
  if (const std::string missing = fedstride::missing_instructions(); !missing.empty())
    return complain("this build needs " + missing + ", which this processor lacks; build the preset 'portable'", 1);
  try {
    const int code = carry_out_command_line(argc, argv);
    return code != 0 ? code : written();
  } catch (const fedstride::Stopped& stopped) {
    return complain(stopped.what(), 130);
  } catch (const fedstride::Error& error) {
    return complain(error.what(), error.exit_code());
  } catch (const std::bad_alloc&) {
    return complain("out of memory", 1);
  } catch (const std::exception& error) {
    return complain(error.what(), 1);
  }
}
