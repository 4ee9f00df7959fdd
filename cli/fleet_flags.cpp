#include "cli/fleet_flags.hpp"

#include <CLI/CLI.hpp>

#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"

namespace fedstride {

void add_fleet_flags(CLI::App& command, FleetFlags& flags) {
  add_choice_flag(command, "--fleet", flags.fleet, {"in-process", "mpi"},
                  "the processes that take part: this one, or all that mpirun or srun has started; no result depends on it")
      .group("Run");
  add_number_flag(command, "--rank-patience", flags.patience, {.low = 0.1, .high = 1e6},
                  "seconds after which --fleet mpi says which ranks it waits for");
  command.get_option("--rank-patience")->group("Run");
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
    if (!is_free_on_resume(key) && !is_about_output(key)) text += key + " = " + value_text(setting.value) + "\n";
  return text;
}

}  // namespace fedstride
