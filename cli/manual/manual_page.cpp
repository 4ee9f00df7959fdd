#include "cli/manual/manual.hpp"

#include <algorithm>
#include <utility>

#include "cli/terminal/columns.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

// Escapes text for use inside a roff line. Hyphens are printed as ASCII hyphens, so flags can be copied.
std::string roff(std::string_view text) {
  static constexpr std::pair<char, std::string_view> kEscapes[] = {
      {'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}, {'"', "\\(dq"}, {'\n', " "}};
  std::string escaped;
  for (const char letter : text) {
    const auto found = std::ranges::find(kEscapes, letter, &std::pair<char, std::string_view>::first);
    escaped += found == std::end(kEscapes) ? std::string_view(&letter, 1) : found->second;
  }
  return escaped;
}

// A line that roff does not treat as a request.
std::string roff_line(std::string_view escaped) { return (escaped.starts_with('.') ? "\\&" : "") + std::string(escaped) + "\n"; }

// A paragraph in lines of about 80 characters.
std::string roff_paragraph(std::string_view text) {
  const std::string folded = wrapped(roff(text), 78, 0, 0);
  std::string lines;
  for (const auto line : split(folded, '\n'))
    if (!line.empty()) lines += roff_line(line);
  return lines;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }
std::string section(std::string_view title) { return ".SH " + std::string(title) + "\n"; }

std::string page_title(std::string full_name) {
  std::ranges::replace(full_name, ' ', '-');
  return full_name;
}

std::string synopsis(const CommandInfo& command) {
  std::string text = section("SYNOPSIS") + roff_line(bold(command.full_name));
  for (const FlagInfo& flag : command.flags)
    if (flag.needed) text += roff_line(bold(flag.names.back()) + " " + italic(flag.value.word));
  text += roff_line("[" + italic("OPTIONS") + "]");
  for (const FlagInfo& argument : command.arguments) {
    const std::string name = italic(argument.names.front()) + (argument.repeated ? " ..." : "");
    text += roff_line(argument.needed ? name : "[" + name + "]");
  }
  if (!command.commands.empty()) text += roff_line(italic("COMMAND"));
  return text;
}

// The known names of a value; empty if none has a summary.
std::string known_values(const FlagInfo& flag) {
  const auto& known = flag.value.known;
  if (std::ranges::none_of(known, [](const KnownName& one) { return !one.summary.empty(); })) return {};
  std::string text = ".RS\n";
  for (const KnownName& one : known) text += ".TP\n" + roff_line(bold(one.name)) + roff_paragraph(one.summary);
  return text + ".RE\n";
}

std::string entry(const FlagInfo& flag, bool is_argument) {
  std::string head;
  for (const std::string& name : flag.names) head += (head.empty() ? "" : ", ") + (is_argument ? italic(name) : bold(name));
  if (!is_argument && !flag.value.word.empty()) head += " " + italic(flag.value.word);
  return ".TP\n" + roff_line(head) + roff_paragraph(flag.help + (flag.needed && !is_argument ? " (required)" : "")) +
         known_values(flag);
}

std::string options(const CommandInfo& command) {
  std::string text;
  if (!command.arguments.empty()) text += section("ARGUMENTS");
  for (const FlagInfo& argument : command.arguments) text += entry(argument, true);
  std::vector<std::string> groups;
  for (const FlagInfo& flag : command.flags)
    if (!flag.group.empty() && std::ranges::find(groups, flag.group) == groups.end()) groups.push_back(flag.group);
  if (!groups.empty()) text += section("OPTIONS");
  for (const std::string& group : groups) {
    if (groups.size() > 1) text += ".SS " + roff(group) + "\n";
    for (const FlagInfo& flag : command.flags)
      if (flag.group == group) text += entry(flag, false);
  }
  return text;
}

// Splits the help's footer: a line that starts with one of the words below opens a section, which ends at the next such line.
std::string footer_sections(const std::string& footer) {
  struct Section {
    std::string_view title, begins;
    std::string text = {};
  };
  Section sections[] = {
      {"NOTES", ""}, {"ENVIRONMENT", "Environment: "}, {"EXIT STATUS", "Exit code: "}, {"EXAMPLES", "Example: "}};
  Section* current = &sections[0];
  for (std::string_view line : split(footer, '\n')) {
    for (Section& one : sections)
      if (!one.begins.empty() && line.starts_with(one.begins)) {
        current = &one;
        line.remove_prefix(one.begins.size());
      }
    const bool verbatim = current->title == "EXAMPLES";
    if (verbatim)
      current->text += roff_line(roff(line));
    else
      current->text += std::string(line) + " ";
  }
  std::string text;
  for (const Section& one : sections) {
    if (trimmed(one.text).empty()) continue;
    text += section(one.title) + (one.title == "EXAMPLES" ? ".nf\n" + one.text + ".fi\n" : roff_paragraph(one.text));
  }
  return text;
}

std::string see_also(const CommandInfo& command) {
  std::vector<std::string> names;
  for (std::string parent = command.full_name; parent.find(' ') != std::string::npos;) {
    parent.resize(parent.rfind(' '));
    names.push_back(page_title(parent));
  }
  for (const CommandInfo& subcommand : command.commands) names.push_back(page_title(subcommand.full_name));
  std::string text = section("SEE ALSO");
  for (const std::string& name : names) text += roff_line(bold(name) + "(1)" + (name == names.back() ? "" : ","));
  return text;
}

}  // namespace

std::string manual_page_name(const CommandInfo& command) { return page_title(command.full_name) + ".1"; }

std::string manual_page(const CommandInfo& command, const std::string& version, const std::string& date) {
  std::string upper = page_title(command.full_name);
  std::ranges::transform(upper, upper.begin(), [](char letter) {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  });
  std::string what = command.description;
  if (what.ends_with('.')) what.pop_back();
  std::string text = ".\\\" Generated by 'fedstride manual'.\n";
  text += ".TH \"" + roff(upper) + "\" 1 \"" + date + "\" \"fedstride " + roff(version) + "\" \"User Commands\"\n";
  // Left-justified, without hyphenation, so flags and numbers can be searched and copied.
  text += ".ad l\n.nh\n";
  text += section("NAME") + roff_line(roff(page_title(command.full_name)) + " \\- " + roff(what));
  text += synopsis(command);
  text += section("DESCRIPTION") + roff_paragraph(command.description);
  if (!command.commands.empty()) text += section("COMMANDS");
  for (const CommandInfo& subcommand : command.commands)
    text += ".TP\n" + roff_line(bold(subcommand.name)) + roff_paragraph(subcommand.description);
  return text + options(command) + footer_sections(command.footer) + see_also(command);
}

}  // namespace fedstride
