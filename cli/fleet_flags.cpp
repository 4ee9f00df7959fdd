#include "cli/fleet_flags.hpp"

#include <CLI/CLI.hpp>

#include "cli/flags.hpp"

namespace fedstride {

void add_fleet_flags(CLI::App& command, FleetFlags& flags) {
  CLI::Option& fleet =
      add_choice_flag(command, "--fleet", flags.fleet, {"in-process", "mpi"},
                      "where to train: in this process, or on all MPI ranks (mpirun, srun); results do not depend on it");
  CLI::Option& patience = add_number_flag(command, "--rank-patience", flags.patience, {.low = 0.1, .high = 1e6},
                                          "seconds after which --fleet mpi reports the ranks it is waiting for");
  for (CLI::Option* option : {&fleet, &patience}) {
    option->group(title_of(Question::output));
    show_seldom(*option);
  }
}

std::unique_ptr<Ranks> join_ranks(const FleetFlags& flags, const std::atomic<bool>* stop) {
  auto ranks = Ranks::join();
  ranks->watch(stop, flags.patience);
  return ranks;
}

std::string shared_command_line(const Settings& settings, const std::vector<std::pair<std::string, std::string>>& words) {
  std::string text;
  for (const auto& [name, word] : words)
    if (!word.empty()) text += name + " = " + word + "\n";
  for (const auto& [key, setting] : settings)
    if (shapes_rounds(shapes_of(key))) text += key + " = " + value_text(setting.value) + "\n";
  return text;
}

}  // namespace fedstride
