#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/fleet_flags.hpp"
#include "cli/terminal/host.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "core/program_name.hpp"
#include "sim/run/run.hpp"

namespace fedstride {
namespace {

struct RunCommandFlags {
  FleetFlags fleet;
  RunFlags run;
  std::string resume;
};

void carry_out(const RunCommandFlags& arguments, CLI::App& command, const FleetMaker& fleet) {
  check_flags(command);
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* processes = std::getenv(name);
        !arguments.fleet.on_ranks() && processes != nullptr && std::string_view(processes) != "1")
      throw usage_error("fleet is 'in-process', but MPI started " + std::string(processes) +
                        " processes, each of which would carry out the whole run; give --fleet mpi, or start only one");
  if (!arguments.resume.empty() && !arguments.run.config.empty())
    throw usage_error("--resume and --config cannot be combined: a run resumes with its own configuration");
  if (!arguments.resume.empty() && arguments.run.settings.contains("out"))
    throw usage_error("--resume and --out cannot be combined: a run resumes in its own folder");
  const Settings settings = merged(arguments.run.config, arguments.run.settings);
  ProgressBar progress(arguments.run.json);
  const RunObserver observer = progress.observer(stop_on_signals());
  const RunSummary summary = arguments.resume.empty() ? run(resolve(settings), settings, observer, fleet)
                                                      : resume(arguments.resume, settings, observer, fleet);
  const std::string on_ranks = arguments.fleet.on_ranks() ? "--fleet mpi " : "";
  progress.end(summary, arguments.run.json, program_name() + " run " + on_ranks + "--resume " + summary.folder);
}

// Rank 0 carries out the run, and the other ranks work for it. All ranks have the same command line; rank 0 reports its errors.
void carry_out_on_ranks(const RunCommandFlags& arguments, CLI::App& command) {
  const std::atomic<bool>* stop = stop_on_signals();
  const auto ranks = join_ranks(arguments.fleet, stop);
  const Settings& settings = arguments.run.settings;
  const MpiJob job{
      .command_line = shared_command_line(settings, {{"config", arguments.run.config}, {"resume", arguments.resume}}),
      .data = setting_text(settings, "data"),
      .data_dir = setting_text(settings, "data-dir"),
      .stop = stop};
  if (ranks->rank() > 0) return work_for_rank_0(*ranks, job);
  const DismissOnExit end(*ranks);
  carry_out(arguments, command, mpi_fleet(*ranks, job));
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("run", "Train a federation in this process, or on the ranks of an MPI job.");
  command.footer(
      "Learning rates are for mean gradients. A new run needs a new or empty --out folder, and writes config.toml,\n"
      "partition.json, rounds.jsonl, checkpoint, model.safetensors and summary.json to it.\n"
      "Example: fedstride run --dataset cifar10 --partition interpolated --random-fraction 0.33 --optimizer adadp \\\n"
      "           --rounds 30 --out runs/cifar");
  auto arguments = std::make_shared<RunCommandFlags>();
  add_flag(command, "--resume", arguments->resume, Place::folder,
           "resume the run in this folder, up to a larger --rounds if given")
      .group(title_of(Question::output));
  add_run_flags(command, arguments->run);
  add_fleet_flags(command, arguments->fleet);
  command.callback([arguments, &command] {
    if (arguments->fleet.on_ranks()) return carry_out_on_ranks(*arguments, command);
    carry_out(*arguments, command, {in_process_fleet});
  });
}

}  // namespace fedstride
