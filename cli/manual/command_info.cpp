#include "cli/manual/manual.hpp"

#include <CLI/CLI.hpp>

namespace fedstride {
namespace {

FlagInfo flag_info(CLI::Option& option) {
  FlagInfo info{.help = option.get_description(),
                .group = option.get_group(),
                .value = value_of(option),
                .needed = option.get_required(),
                .repeated = option.get_items_expected_max() > 1};
  if (option.get_positional()) {
    info.names = {option.get_name(true)};
    return info;
  }
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  return info;
}

}  // namespace

CommandInfo describe(CLI::App& command) {
  CommandInfo info{.name = command.get_name(),
                   .full_name = full_name(command),
                   .description = command.get_description(),
                   .footer = command.get_footer()};
  for (CLI::Option* option : command.get_options({}))
    (option->get_positional() ? info.arguments : info.flags).push_back(flag_info(*option));
  for (CLI::App* subcommand : command.get_subcommands({})) info.commands.push_back(describe(*subcommand));
  return info;
}

}  // namespace fedstride
