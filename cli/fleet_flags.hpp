#pragma once

#include <memory>
#include <string>

#include "sim/mpi/mpi_fleet.hpp"
#include "sim/settings/configuration.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// The flags of commands that run in this process or on the ranks of an MPI job.
struct FleetFlags {
  std::string fleet = "in-process";
  double patience = 30;
  bool on_ranks() const { return fleet == "mpi"; }
};
void add_fleet_flags(CLI::App& command, FleetFlags& flags);

/// Joins the MPI job and watches its ranks (Ranks::watch). Throws Error (usage) if this process is not part of an MPI job.
std::unique_ptr<Ranks> join_ranks(const FleetFlags& flags, const std::atomic<bool>* stop);

/// Returns MpiJob::command_line: the settings that all ranks must share, and other words of the command ({"config", "a.toml"}).
std::string shared_command_line(const Settings& settings, const std::vector<std::pair<std::string, std::string>>& words);

}  // namespace fedstride
