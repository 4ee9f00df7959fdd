#include "cli/flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "core/field_words.hpp"
#include "core/json.hpp"
#include "core/output.hpp"
#include "core/text.hpp"
#include "sweep/cells/cell_keys.hpp"

namespace fedstride {
namespace {

thread_local const std::set<std::string, std::less<>>* given_only = nullptr;

// The only data that CLI11 can attach to an option are named validators. Ours accepts everything; its description holds a note,
// which has a line with the kind of path, one that says when the help shows the flag, and one per known name, with its summary
// after a tab.
constexpr const char* kNoteName = "takes";
constexpr std::string_view kPlaceNames[] = {"", "file", "folder", "output"};

std::string note_of(const FlagValue& value) {
  std::string note(kPlaceNames[static_cast<std::size_t>(value.place)]);
  note += "\n" + std::to_string(static_cast<int>(value.shown));
  for (const KnownName& known : value.known) note += "\n" + known.name + "\t" + known.summary;
  return note;
}

void read_note(const std::string& note, FlagValue& value) {
  const auto lines = split(note, '\n');
  value.place = static_cast<Place>(std::ranges::find(kPlaceNames, lines.front()) - std::begin(kPlaceNames));
  value.shown = static_cast<Shown>(lines[1].front() - '0');
  for (const auto line : std::span(lines).subspan(2)) {
    const auto tab = line.find('\t');
    value.known.push_back({std::string(line.substr(0, tab)), std::string(line.substr(tab + 1))});
  }
}

// Attaches the kind of value to a flag or an argument. An argument's placeholder is its own name.
CLI::Option& takes(CLI::Option& option, const FlagValue& value) {
  const auto nothing = [](std::string&) { return std::string(); };
  option.check(CLI::Validator(nothing, note_of(value), kNoteName));
  option.type_name("");
  const std::string word = option.get_positional() ? "" : value.word;
  option.option_text(word + (option.get_required() ? (word.empty() ? "(required)" : " (required)") : ""));
  return option;
}

CLI::Option& add_reader(CLI::App& command, const std::string& name, const std::function<void(const std::string& text)>& read,
                        const FlagValue& value, const std::string& help) {
  return takes(*command.add_option_function<std::string>(name, read, help), value);
}

CLI::Option& check_switch(CLI::Option& option) {
  return *option.check([name = option.get_single_name()](const std::string& text) -> std::string {
    if (text != "true" && text != "false") throw usage_error(name + " is '" + text + "'; it must be true or false");
    return {};
  });
}

std::string help_of_key(const KeyInfo& key) {
  std::string help = key.help;
  if (!key.parts.empty()) help += " (" + joined(key.parts) + ")";
  if (!key.valid_text.empty()) help += "; " + key.valid_text;
  if (!key.default_text.empty() && !key.is_flag) help += " [" + key.default_text + "]";
  return help;
}

std::string word_of_key(const KeyInfo& key) {
  if (key.place != Place::none) return key.place == Place::folder ? "FOLDER" : "FILE";
  return key.is_number ? "NUMBER" : key.known.empty() ? "TEXT" : "NAME";
}

std::string help_of_setting(std::string_view name) {
  const auto settings = settings_of<Configuration>();
  return std::string(std::ranges::find(settings, name, &SettingInfo::name)->help);
}

}  // namespace

std::string title_of(Question question) { return std::string(kQuestionTitles[static_cast<std::size_t>(question)]); }

FlagValue value_of(CLI::Option& option) {
  FlagValue value;
  const bool is_switch = option.get_expected_max() == 0;
  const std::string text = option.get_option_text();
  if (!is_switch)
    value.word = option.get_positional() ? option.get_name(true) : text.empty() ? "TEXT" : text.substr(0, text.find(' '));
  try {
    read_note(option.get_validator(kNoteName)->get_description(), value);
  } catch (const CLI::OptionNotFound&) {
    // No note: any text is valid.
  }
  return value;
}

CLI::Option& add_flag(CLI::App& command, const std::string& name, auto& value, const FlagValue& kind, const std::string& help,
                      Needed needed) {
  CLI::Option& option = takes(*command.add_option(name, value, help)->required(needed == Needed::yes), kind);
  if (name.starts_with("--")) option.allow_extra_args(false);  // a list takes one value each time
  return option;
}
template CLI::Option& add_flag(CLI::App&, const std::string&, std::string&, const FlagValue&, const std::string&, Needed);
template CLI::Option& add_flag(CLI::App&, const std::string&, std::vector<std::string>&, const FlagValue&, const std::string&,
                               Needed);

CLI::Option& add_switch(CLI::App& command, const std::string& name, bool& on, const std::string& help) {
  return check_switch(*command.add_flag(name, on, help));
}

CLI::Option& add_choice_flag(CLI::App& command, const std::string& name, std::string& chosen,
                             const std::vector<std::string>& names, const std::string& help) {
  const auto read = [&chosen, names, what = name.substr(2)](const std::string& text) {
    if (std::ranges::find(names, text) == names.end()) throw usage_error(unknown_name(what, text, names));
    chosen = text;
  };
  return add_reader(command, name, read, {.word = "NAME", .known = as_known(names)},
                    help + "; valid: " + joined(names) + (chosen.empty() ? "" : " [" + chosen + "]"));
}

template <class Number>
CLI::Option& add_number_flag(CLI::App& command, const std::string& name, Number& number, const Valid& valid,
                             const std::string& help, const std::string& word) {
  using Value = std::remove_cvref_t<decltype(std::optional(number).value())>;
  const std::string valid_text = valid.text(std::is_integral_v<Value>);
  const auto read = [&number, valid, valid_text, name](const std::string& text) {
    Value value{};
    if (!parse_number(text, value) || !valid.admits(static_cast<double>(value)))
      throw usage_error(name.substr(2) + " is '" + text + "'; it must be " + valid_text);
    number = value;
  };
  std::string standard;
  if constexpr (std::is_same_v<Number, Value>) standard = " [" + number_text(number) + "]";
  return add_reader(command, name, read, {.word = word}, help + "; " + valid_text + standard);
}
template CLI::Option& add_number_flag(CLI::App&, const std::string&, int&, const Valid&, const std::string&, const std::string&);
template CLI::Option& add_number_flag(CLI::App&, const std::string&, ClientId&, const Valid&, const std::string&,
                                      const std::string&);
template CLI::Option& add_number_flag(CLI::App&, const std::string&, double&, const Valid&, const std::string&,
                                      const std::string&);
template CLI::Option& add_number_flag(CLI::App&, const std::string&, std::optional<int>&, const Valid&, const std::string&,
                                      const std::string&);
template CLI::Option& add_number_flag(CLI::App&, const std::string&, std::optional<double>&, const Valid&, const std::string&,
                                      const std::string&);
template CLI::Option& add_number_flag(CLI::App&, const std::string&, std::optional<std::uint64_t>&, const Valid&,
                                      const std::string&, const std::string&);

void show_seldom(CLI::Option& option) {
  FlagValue value = value_of(option);
  value.shown = Shown::seldom;
  option.get_validator(kNoteName)->description(note_of(value));
}

std::vector<KnownName> as_known(const std::vector<std::string>& names) {
  std::vector<KnownName> known;
  known.reserve(names.size());
  for (const std::string& name : names) known.push_back({name});
  return known;
}

GivenFlagsOnly::GivenFlagsOnly(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (const std::string_view word = argv[i]; word.starts_with("--")) names_.emplace(word.substr(2, word.find('=') - 2));
  given_only = &names_;
}

GivenFlagsOnly::~GivenFlagsOnly() { given_only = nullptr; }

void add_settings_flags(CLI::App& command, Settings& settings, const std::function<bool(const KeyInfo&)>& wanted, bool listed) {
  command.allow_extras();
  const auto is_left_out = [](std::string_view name) { return given_only != nullptr && !given_only->contains(name); };
  for (const KeyInfo& key : all_keys()) {
    if (!wanted(key)) continue;
    if (is_left_out(key.name)) continue;
    const auto store = [&settings, name = key.name](SettingValue value) { settings[name] = {std::move(value), true}; };
    const FlagValue value{
        .word = key.is_flag ? "" : word_of_key(key), .place = key.place, .known = key.known, .shown = key.shown};
    CLI::Option& option = key.is_flag
                              ? takes(check_switch(*command.add_flag_function(
                                          "--" + key.name, [store](std::int64_t count) { store(count > 0); }, help_of_key(key))),
                                      value)
                              : add_reader(command, "--" + key.name, store, value, help_of_key(key));
    if (key.name == "data") option.join(',');  // several files
    option.group(listed ? title_of(key.question) : "");
  }
}

void add_cells_flags(CLI::App& command, CellsFlags& cells, const std::string& what) {
  add_flag(command, "FILE", cells.file, Place::file, "the experiment file", Needed::yes);
  add_flag(command, "--out", cells.out, Place::folder,
           "folder of the sweep (default: sweeps/NAME); an existing " + what + " is resumed");
  add_number_flag(command, "--jobs", cells.jobs, {.low = 1, .high = 1024}, "cells to run at a time; results do not depend on it");
  add_number_flag(command, "--threads", cells.threads, {.low = 0, .high = 1024},
                  "threads for all cells together; 0: one for each processor");
  add_choice_flag(command, "--scale", cells.scale, {"quick", "full"}, "scale whose overrides in the file apply");
  const auto is_fixable = [](const KeyInfo& key) { return key.name != "out" && key.name != "threads" && key.name != "quiet"; };
  add_settings_flags(command, cells.fixed, is_fixable, false);  // 'fedstride run --help' lists them
}

void print_replaced(const Experiment& experiment) {
  for (const std::string& note : experiment.replaced) std::cerr << "fedstride: note: " << note << "\n";
}

void add_config_flag(CLI::App& command, std::string& path) {
  add_flag(command, "--config", path, Place::file, "TOML file of settings, with the flags' names as keys; flags override it")
      .group(title_of(Question::output));
}

CLI::Option& add_json_switch(CLI::App& command, bool& on) {
  return add_switch(command, "--json", on, "print the results as JSON only");
}

void print_json(const Json& json) { std::cout << dump_json(json, 2) << "\n"; }

void add_run_flags(CLI::App& command, RunFlags& flags) {
  add_config_flag(command, flags.config);
  add_json_switch(command, flags.json).group(title_of(Question::output));
  add_settings_flags(command, flags.settings, [](const KeyInfo&) { return true; });
}

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& summary, const std::string& footer,
                      const std::function<void(CLI::App& command)>& carry_out) {
  CLI::App& command = *parent.add_subcommand(name, summary);
  command.footer(footer);
  if (!carry_out) return command;
  command.allow_extras();
  command.callback([&command, carry_out] {
    check_flags(command);
    carry_out(command);
  });
  return command;
}

void add_data_folder_flag(CLI::App& command, std::string& path) {
  add_flag(command, "--data-dir", path, Place::folder, help_of_setting("data-dir"));
}

void add_data_flag(CLI::App& command, std::string& path) {
  add_flag(command, "--data", path, Place::file, help_of_setting("data")).join(',');
}

void add_reading_flags(CLI::App& command, Settings& settings) {
  add_settings_flags(command, settings,
                     [](const KeyInfo& key) { return is_about_reading(key.name) || is_about_normalizing(key.name); });
}

ReadSettings reading_settings(const Settings& settings) {
  Settings with_data = settings;
  with_data["data"] = {std::string("-"), true};  // these settings are valid only with data
  return data_options(resolve(with_data)).read;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + command.get_name();
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : command.get_subcommands({})) names.push_back(subcommand->get_name());
  return names;
}

Error unknown_command(const std::string& word, const std::vector<std::string>& names, const std::string& help) {
  return usage_error("command '" + word + "' is unknown; " + advice("command", word, names) + "see '" + help + "'");
}

namespace {

// Returns the long names of all flags or, with `only_given`, of those on the command line.
std::vector<std::string> flag_names(const CLI::App& command, bool only_given) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    if (!only_given || option->count() > 0) names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  return names;
}

// Guesses what a word that belongs to no flag means: "did you mean '--rounds 10'? "; empty if unknown.
std::string meant_by(CLI::App& command, const std::string& word) {
  const auto meant = [](const std::string& words) { return "did you mean '" + words + "'? "; };
  if (word.ends_with(".toml") && command.get_option_no_throw("--config") != nullptr)
    return meant("--config " + shell_quoted(word));
  if (word.find(':') != word.npos)
    for (CLI::Option* option : command.get_options())
      if (option->get_required() && value_of(*option).word == "HOST:PORT")
        return meant("--" + option->get_lnames().front() + " " + shell_quoted(word));
  const std::size_t equals = word.find('=');
  const std::string flag = "--" + word.substr(0, equals);
  if (equals != word.npos && command.get_option_no_throw(flag) != nullptr)
    return meant(flag + " " + shell_quoted(word.substr(equals + 1)));
  for (const std::string& name : flag_names(command, false)) {
    const std::vector<KnownName> known = value_of(*command.get_option("--" + name)).known;
    if (std::ranges::find(known, word, &KnownName::name) != known.end()) return meant("--" + name + " " + word);
  }
  // A number after the name of a part is probably the value of one of the part's settings.
  if (double number = 0; !parse_number(word, number)) return "";
  for (const KeyInfo& key : all_keys()) {
    const CLI::Option* const family = command.get_option_no_throw("--" + key.group);
    if (family == nullptr || family->count() == 0 || key.shown == Shown::seldom) continue;
    const std::string& part = family->results().back();
    if (std::ranges::find(key.parts, part) != key.parts.end())
      return meant("--" + key.group + " " + part + " --" + key.name + " " + word);
  }
  return "";
}

// Throws Error (usage) if the flag's value is the next flag, or if the flag was given different values.
void check_values(CLI::App& command, CLI::Option& option) {
  const std::vector<std::string>& values = option.results();
  if (option.get_multi_option_policy() == CLI::MultiOptionPolicy::Join) return;
  const std::string& last = values.back();
  if (last.starts_with("--") && command.get_option_no_throw(last.substr(0, last.find('='))) != nullptr)
    throw usage_error(needs_value(command, option));
  if (option.get_items_expected_max() > 1) return;  // a list
  const auto other = std::ranges::find_if(values, [&](const std::string& value) { return value != values.front(); });
  if (other == values.end()) return;
  const std::string& name = option.get_lnames().front();
  throw usage_error("flag '--" + name + "' is given twice: " + values.front() + " and " + *other +
                    (name == "dp" ? "; for both levels, use --dp both" : ""));
}

}  // namespace

std::string needs_value(const CLI::App& command, CLI::Option& option) {
  std::vector<std::string> names;
  for (const KnownName& known : value_of(option).known) names.push_back(known.name);
  return "flag '--" + option.get_lnames().front() + "' needs a value; " +
         (names.empty() ? "" : "valid: " + joined(names) + "; ") + "see '" + full_name(command) + " --help'";
}

void check_flags(CLI::App& command) {
  const CLI::Option* out = command.get_option_no_throw("--out");
  const std::string own = out != nullptr && out->count() > 0 ? out->results().back() : "";
  constexpr std::string_view kNeverEmpty[] = {"config", "resume", "out", "data", "url", "tensorboard"};
  for (CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    if (!option->get_positional()) check_values(command, *option);
    const std::string name = option->get_lnames().empty() ? option->get_name() : option->get_lnames().front();
    const std::string value = option->results().back();
    const bool is_output = value_of(*option).place == Place::output;
    if (value.empty() && (is_output || std::ranges::find(kNeverEmpty, name) != std::end(kNeverEmpty)))
      throw usage_error(name + " is ''; it must name a file or folder (or be left out)");
    if (is_output) check_output(value, option == out ? "" : own);
  }
  const auto unknown = command.remaining();
  if (unknown.empty()) return;
  const std::string given = unknown.front().substr(0, unknown.front().find('='));
  const std::string full = full_name(command);
  const std::string see = "'" + full + " --help'";
  if (!given.starts_with("-"))
    throw usage_error("'" + unknown.front() + "' was not expected after '" + full + "'; " + meant_by(command, unknown.front()) +
                      "see " + see);
  const std::string name = given.substr(given.find_first_not_of('-') == given.npos ? 0 : given.find_first_not_of('-'));
  std::string hint = advice("flag", name, flag_names(command, false), flag_names(command, true));
  if (names_algorithms(name) && unknown.size() > 1)
    if (std::string known = advice_on_algorithm(unknown[1]); !known.empty()) hint = std::move(known);
  throw usage_error("flag '" + given + "' is unknown; " + hint + see + " lists them");
}

Settings merged(const std::string& path, const Settings& from_command_line) {
  Settings settings = path.empty() ? Settings{} : read_settings(path);
  for (const auto& [key, setting] : from_command_line) settings[key] = setting;
  return settings;
}

std::string own_command(const CLI::App& command) {
  std::string text = full_name(command);
  for (const CLI::Option* option : command.get_options())
    for (const std::string& value : option->results()) {
      const bool is_switch = option->get_expected_max() == 0;
      if (is_switch && value != "true") continue;
      if (!option->get_positional()) text += " --" + option->get_lnames().front();  // a hidden option has no get_name()
      if (!is_switch) text += " " + shell_quoted(value);
    }
  return text;
}

}  // namespace fedstride
