#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/run_summary.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "run/run.hpp"

namespace fedstride {
namespace {

struct RunCommandFlags {
  RunFlags run;
  std::string resume;
};

void carry_out(const RunCommandFlags& arguments) {
  if (!arguments.resume.empty() && !arguments.run.config.empty())
    throw usage_error("--resume and --config exclude each other: a run goes on with its own configuration");
  if (!arguments.resume.empty() && arguments.run.settings.contains("out"))
    throw usage_error("--resume and --out exclude each other: a run goes on in its own folder");
  const Settings settings = merged(arguments.run.config, arguments.run.settings);
  ProgressBar progress(arguments.run.json);
  const RunObserver observer = progress.observer(stop_on_signals());
  const RunSummary summary =
      arguments.resume.empty() ? run(resolve(settings), settings, observer) : resume(arguments.resume, settings, observer);
  end_run(summary, progress, arguments.run.json, "fedstride run --resume " + summary.folder);
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("run", "Train a federation in this process.");
  command.footer(
      "Rates are in the mean-gradient unit. A new run needs a new or empty --out folder; it leaves config.toml,\n"
      "partition.json, rounds.jsonl, checkpoint, model.safetensors and summary.json there.\n"
      "Example: fedstride run --dataset cifar10 --partition interpolated --random-fraction 0.33 --optimizer adadp \\\n"
      "           --rounds 30 --out runs/cifar");
  auto arguments = std::make_shared<RunCommandFlags>();
  CLI::Option& resumed =
      *command.add_option("--resume", arguments->resume, "go on with the run in this folder, also to a larger --rounds");
  takes(resumed, Place::folder);
  resumed.group("Run");
  add_run_flags(command, arguments->run);
  when_called(command, [arguments] { carry_out(*arguments); });
}

}  // namespace fedstride
