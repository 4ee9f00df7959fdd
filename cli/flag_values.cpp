#include "cli/flag_values.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/text.hpp"

namespace fedstride {
namespace {

// CLI11 keeps nothing of ours with an option but named checks; this one checks nothing, its description is the note:
// a line for the kind of place, then a line for each name, its summary behind a tab.
constexpr const char* kNoteName = "takes";
constexpr std::string_view kPlaceNames[] = {"", "file", "folder"};

std::string note_of(const FlagValue& value) {
  std::string note(kPlaceNames[static_cast<std::size_t>(value.place)]);
  for (const KnownName& known : value.known) note += "\n" + known.name + "\t" + known.summary;
  return note;
}

void read_note(const std::string& note, FlagValue& value) {
  const auto lines = split(note, '\n');
  value.place = static_cast<Place>(std::ranges::find(kPlaceNames, lines.front()) - std::begin(kPlaceNames));
  for (const auto line : std::span(lines).subspan(1)) {
    const auto tab = line.find('\t');
    value.known.push_back({std::string(line.substr(0, tab)), std::string(line.substr(tab + 1))});
  }
}

}  // namespace

std::vector<KnownName> as_known(const std::vector<std::string>& names) {
  std::vector<KnownName> known;
  known.reserve(names.size());
  for (const std::string& name : names) known.push_back({name});
  return known;
}

void takes(CLI::Option& option, const FlagValue& value) {
  const auto nothing = [](std::string&) { return std::string(); };
  option.check(CLI::Validator(nothing, note_of(value), kNoteName));
  option.type_name("");
  const std::string word = option.get_positional() ? "" : value.word;
  option.option_text(word + (option.get_required() ? (word.empty() ? "(needed)" : " (needed)") : ""));
}

void takes(CLI::Option& option, Place place) {
  takes(option, {.word = place == Place::file ? "FILE" : "FOLDER", .place = place});
}

FlagValue value_of(CLI::Option& option) {
  FlagValue value;
  if (option.get_expected_max() == 0) return value;  // a switch
  const std::string text = option.get_option_text();
  value.word = option.get_positional() ? option.get_name(true) : text.empty() ? "TEXT" : text.substr(0, text.find(' '));
  try {
    read_note(option.get_validator(kNoteName)->get_description(), value);
  } catch (const CLI::OptionNotFound&) {
    // Nothing has been noted: any text.
  }
  return value;
}

void check_switch(CLI::Option& option) {
  const std::string name = option.get_single_name();
  const auto check = [name](const std::string& text) -> std::string {
    if (text != "true" && text != "false") throw usage_error(name + " is '" + text + "'; it must be true or false");
    return {};
  };
  option.check(check);
}

CLI::Option& add_switch(CLI::App& command, const std::string& name, bool& on, const std::string& help) {
  CLI::Option& option = *command.add_flag(name, on, help);
  check_switch(option);
  return option;
}

CLI::Option& add_choice_flag(CLI::App& command, const std::string& name, std::string& chosen,
                             const std::vector<std::string>& names, const std::string& help) {
  const auto read = [&chosen, names, what = name.substr(2)](const std::string& text) {
    if (std::ranges::find(names, text) == names.end()) throw usage_error(unknown_name(what, text, names));
    chosen = text;
  };
  CLI::Option& option = *command.add_option_function<std::string>(
      name, read, help + "; valid: " + joined(names) + (chosen.empty() ? "" : " [" + chosen + "]"));
  takes(option, {.word = "NAME", .known = as_known(names)});
  return option;
}

}  // namespace fedstride
