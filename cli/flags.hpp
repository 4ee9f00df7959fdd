#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/family.hpp"
#include "sim/settings/configuration.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fedstride {

class Json;
struct Experiment;

/// The kind of value that a flag or an argument takes, for help, manual pages and completion.
struct FlagValue {
  std::string word;                   ///< placeholder in the help: "FILE"; empty for a switch
  Place place = Place::none;          ///< kind of path
  std::vector<KnownName> known = {};  ///< values to offer
  Shown shown = Shown::often;         ///< when the help shows it
};
/// True for a file that is read or written.
constexpr bool is_file(Place place) { return place == Place::file || place == Place::output; }
FlagValue value_of(CLI::Option& option);
/// The heading of the flags that answer this question.
std::string title_of(Question question);

/// Adds a flag, or an argument if the name has no dashes. Value is std::string, or std::vector<std::string> for one that may be
/// given several times.
enum class Needed { no, yes };
CLI::Option& add_flag(CLI::App& command, const std::string& name, auto& value, const FlagValue& kind, const std::string& help,
                      Needed needed = Needed::no);
/// Adds a flag, or an argument, that takes a file or a folder.
CLI::Option& add_flag(CLI::App& command, const std::string& name, auto& value, Place place, const std::string& help,
                      Needed needed = Needed::no) {
  return add_flag(command, name, value, FlagValue{.word = place == Place::folder ? "FOLDER" : "FILE", .place = place}, help,
                  needed);
}

/// Adds a flag without a value. --NAME=true and --NAME=false are valid too; any other value throws Error (usage).
CLI::Option& add_switch(CLI::App& command, const std::string& name, bool& on, const std::string& help);

/// Adds a flag whose value is one of these names; any other value throws Error (usage). `chosen` holds the default, or is empty.
CLI::Option& add_choice_flag(CLI::App& command, const std::string& name, std::string& chosen,
                             const std::vector<std::string>& names, const std::string& help);

/// Adds a flag that takes a number; an invalid number throws Error (usage), as for a setting. Number is int, ClientId or double,
/// or, for a flag without a default, std::optional of int, double or std::uint64_t.
template <class Number>
CLI::Option& add_number_flag(CLI::App& command, const std::string& name, Number& number, const Valid& valid,
                             const std::string& help, const std::string& word = "NUMBER");

/// Shows the flag only in --help-all.
void show_seldom(CLI::Option& option);

/// The names as values to offer, without summaries.
std::vector<KnownName> as_known(const std::vector<std::string>& names);
/// All names of a Choice.
template <Choice E>
std::vector<std::string> choices_of() {
  return {kChoiceNames<E>.begin(), kChoiceNames<E>.end()};
}

/// Adds a flag for each key of all_keys() that `wanted` accepts. Values given are stored in `settings`, marked as coming from
/// the command line. Unknown flags are left to check_flags. `listed`: the help shows the flags.
void add_settings_flags(CLI::App& command, Settings& settings, const std::function<bool(const KeyInfo&)>& wanted,
                        bool listed = true);

/// While an instance exists, add_settings_flags on this thread adds only flags given in argv, because creating hundreds takes
/// longer than the rest of startup.
class GivenFlagsOnly {
 public:
  GivenFlagsOnly(int argc, char** argv);
  ~GivenFlagsOnly();
  GivenFlagsOnly& operator=(GivenFlagsOnly&&) = delete;

 private:
  std::set<std::string, std::less<>> names_;
};

/// The flags of commands that run the cells of an experiment file: FILE, --out, --jobs, --threads, --scale, and a flag for each
/// setting, which fixes it. `what` is the help's word for an existing folder that is resumed.
struct CellsFlags {
  std::string file = {};
  std::string out = {};
  int jobs = 1;
  int threads = 0;
  std::string scale = "full";
  Settings fixed = {};
};
void add_cells_flags(CLI::App& command, CellsFlags& cells, const std::string& what);
/// Prints a note about each list that the command line replaced.
void print_replaced(const Experiment& experiment);

/// Adds --config FILE; flags override the file's settings (merged()).
void add_config_flag(CLI::App& command, std::string& path);

/// Add --data FILE and --data-dir FOLDER, with the same help texts as the settings of these names.
void add_data_flag(CLI::App& command, std::string& path);
void add_data_folder_flag(CLI::App& command, std::string& path);

/// Adds the flags for reading the user's own files: --format, --label, --client-column, --targets and others.
void add_reading_flags(CLI::App& command, Settings& settings);
/// Returns the values of these flags.
ReadSettings reading_settings(const Settings& settings);

/// Adds --json, which prints the results as JSON, and nothing else, on standard output. Every command that prints results has it.
CLI::Option& add_json_switch(CLI::App& command, bool& on);
/// Prints JSON results.
void print_json(const Json& json);

/// The flags of the commands that take every setting of a run: run, serve, launch and devices.
struct RunFlags {
  Settings settings;
  std::string config;
  bool json = false;
};
/// Adds --config, --json and a flag for every setting.
void add_run_flags(CLI::App& command, RunFlags& flags);

/// Adds a subcommand. `carry_out` may be empty; it is called after check_flags.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& summary, const std::string& footer,
                      const std::function<void(CLI::App& command)>& carry_out);

/// A subcommand and the values of its flags, which live as long as the subcommand.
template <class Flags>
struct Command {
  CLI::App& app;
  Flags& flags;
};
/// Adds a subcommand that calls carry_out(flags).
template <class Flags>
Command<Flags> add_command(CLI::App& parent, const std::string& name, const std::string& summary, const std::string& footer,
                           void (*carry_out)(const Flags&)) {
  const auto flags = std::make_shared<Flags>();
  return {add_command(parent, name, summary, footer, [flags, carry_out](CLI::App&) { carry_out(*flags); }), *flags};
}

/// Throws Error (usage) for an unexpected word, an unknown flag (naming the nearest known one), a flag given two different values
/// or an empty path, most likely an unset variable in a script. Throws like check_output() for an output that cannot be written.
void check_flags(CLI::App& command);
/// "flag '--dp' needs a value; valid: ..."
std::string needs_value(const CLI::App& command, CLI::Option& option);

/// The command line as given, quoted for a shell, to tell the user how to resume.
std::string own_command(const CLI::App& command);

/// "fedstride data verify"
std::string full_name(const CLI::App& command);
std::vector<std::string> command_names(const CLI::App& command);
/// Returns an error for a word that is none of the names, the nearest of which it names, and `help`, which shows all.
Error unknown_command(const std::string& word, const std::vector<std::string>& names, const std::string& help);

/// Returns the settings of a file (none if `path` is empty), overridden by those on the command line.
Settings merged(const std::string& path, const Settings& from_command_line);

}  // namespace fedstride
