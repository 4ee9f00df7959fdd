#include "cli/manual/manual.hpp"

#include <algorithm>

#include "cli/terminal/columns.hpp"
#include "core/setting.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kTextColumn = 28;
constexpr std::size_t kNarrow = 70;  // narrower terminals get each text below its flag

bool is_hidden(const FlagInfo& flag, Extent extent) {
  return flag.group.empty() || (extent == Extent::usual && flag.value.shown == Shown::seldom);
}

// An entry for each named value that has a summary.
std::string parts_of(const FlagInfo& flag, std::size_t columns) {
  std::size_t width = 0;
  for (const KnownName& part : flag.value.known) width = std::max(width, part.name.size());
  std::string lines;
  for (const KnownName& part : flag.value.known)
    if (!part.summary.empty()) {
      const std::string head = "      " + part.name + std::string(width + 2 - part.name.size(), ' ');
      lines += head + wrapped(part.summary, columns, head.size(), head.size()) + "\n";
    }
  return lines;
}

std::string section(const std::string& title, const std::vector<FlagInfo>& flags, Extent extent, std::size_t columns,
                    auto wanted) {
  std::string entries;
  for (const FlagInfo& flag : flags)
    if (!is_hidden(flag, extent) && wanted(flag)) entries += help_entry(flag, extent, columns);
  return entries.empty() ? "" : "\n" + title + ":\n" + entries;
}

// Wraps the text up to the first line that is indented or starts with "Example: "; the rest is unchanged.
std::string footer(const std::string& text, std::size_t columns) {
  std::string paragraph, examples;
  for (const auto line : split(text, '\n')) {
    if (!examples.empty() || line.starts_with("Example: ") || line.starts_with(" "))
      examples += std::string(line) + "\n";
    else
      paragraph += std::string(line) + " ";
  }
  std::string all = wrapped(paragraph, columns, 0, 0);
  if (!all.empty()) all += "\n";
  return all + examples;
}

std::string usage(const CommandInfo& command) {
  std::string line = "Usage: " + command.full_name + " [OPTIONS]";
  for (const FlagInfo& argument : command.arguments) {
    const std::string name = argument.names.front() + (argument.repeated ? "..." : "");
    line += argument.needed ? " " + name : " [" + name + "]";
  }
  return line + (command.commands.empty() ? "" : " COMMAND") + "\n";
}

std::vector<std::string> groups_of(const CommandInfo& command) {
  std::vector<std::string> groups{"Options"};
  for (const std::string_view title : kQuestionTitles) groups.emplace_back(title);
  for (const FlagInfo& flag : command.flags)
    if (std::ranges::find(groups, flag.group) == groups.end()) groups.push_back(flag.group);
  return groups;
}

}  // namespace

std::size_t help_columns() { return std::clamp<std::size_t>(terminal_columns(100), 40, 120); }

std::string help_entry(const std::string& head, const std::string& text, std::size_t columns) {
  const bool below = columns < kNarrow;
  const std::size_t indent = below ? 6 : kTextColumn;
  std::string line = "  " + head;
  if (below || line.size() + 2 > indent)
    line += "\n" + std::string(indent, ' ');
  else
    line += std::string(indent - line.size(), ' ');
  return line + wrapped(text, columns, indent, indent) + "\n";
}

std::string help_entry(const FlagInfo& flag, Extent extent, std::size_t columns) {
  std::string head = joined(flag.names);
  if (head.starts_with("-") && !flag.value.word.empty()) head += " " + flag.value.word;
  const std::string text = help_entry(head, flag.help + (flag.needed ? " (required)" : ""), columns);
  return extent == Extent::all ? text + parts_of(flag, columns) : text;
}

std::string help_page(const CommandInfo& command, Extent extent, std::size_t columns) {
  const auto hidden = std::ranges::count_if(command.flags, [&](const FlagInfo& flag) { return is_hidden(flag, Extent::usual); }) -
                      std::ranges::count_if(command.flags, [&](const FlagInfo& flag) { return is_hidden(flag, Extent::all); });
  std::string page = wrapped(command.description, columns, 0, 0) + "\n" + usage(command);
  page += section("Arguments", command.arguments, Extent::all, columns, [](const FlagInfo&) { return true; });
  const auto is_first = [&](const FlagInfo& flag) { return extent == Extent::usual && flag.value.shown == Shown::first; };
  std::vector<FlagInfo> by_question = command.flags;
  const std::vector<std::string> groups = groups_of(command);
  std::ranges::stable_sort(by_question, {},
                           [&](const FlagInfo& flag) { return std::ranges::find(groups, flag.group) - groups.begin(); });
  page += section("Most used", by_question, extent, columns, is_first);
  for (const std::string& group : groups)
    page += section(group, command.flags, extent, columns, [&](const FlagInfo& flag) {
      return flag.group == group && !is_first(flag) && (hidden > 0 || flag.names.front() != "--help-all");
    });
  if (!command.commands.empty()) page += "\nCommands:\n";
  for (const CommandInfo& subcommand : command.commands) page += help_entry(subcommand.name, subcommand.description, columns);
  if (hidden > 0 && extent == Extent::usual)
    page += "\n" +
            wrapped(std::to_string(hidden) + " more flags: '" + command.full_name +
                        " --help-all'. Introductions: 'fedstride help " + joined(subject_names(), "|") + "'.",
                    columns, 0, 0) +
            "\n";
  if (!command.footer.empty()) page += "\n" + footer(command.footer, columns);
  return page;
}

}  // namespace fedstride
