#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "report/tensorboard.hpp"

namespace fedstride {
namespace {

struct ExportFlags {
  std::string results;
  std::string tensorboard;
  bool json = false;
};

void export_results(const ExportFlags& arguments) {
  if (arguments.results.empty()) throw usage_error("DIR is ''; it must name a place");
  const TensorBoardExport written = export_tensorboard(read_results(arguments.results), arguments.tensorboard);
  if (written.runs.empty()) throw failure("'" + arguments.results + "' has no finished round yet; there is nothing to export");
  if (arguments.json) {
    const Json json{{"folder", arguments.tensorboard},
                    {"runs", written.runs},
                    {"without_rounds", written.without_rounds},
                    {"clients_left_out", written.clients_left_out}};
    std::printf("%s\n", dump_json(json, 2).c_str());
    return;
  }
  std::printf("%s in %s\n", counted(written.runs.size(), "run").c_str(), arguments.tensorboard.c_str());
  if (written.without_rounds > 0)
    std::printf("%zu %s no round yet\n", written.without_rounds, written.without_rounds == 1 ? "cell has" : "cells have");
  if (written.clients_left_out > 0)
    std::printf("of the clients 0 to %u; %zu more are in rounds.jsonl\n", kMaxExportedClients - 1, written.clients_left_out);
  std::printf("to see them: tensorboard --logdir %s\n", arguments.tensorboard.c_str());
}

}  // namespace

void add_export_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("export", "Results in the files of another program: TensorBoard.");
  command.footer(
      "Each run becomes a folder of its own with a step a round; the tags are accuracy/..., loss/..., privacy/epsilon,\n"
      "clients/..., training/... and time/.... A cell of a sweep is called by the settings that vary. To export again replaces\n"
      "the files.\n"
      "Example: fedstride export sweeps/koskela-figure-1a --tensorboard boards/figure-1a");
  auto arguments = std::make_shared<ExportFlags>();
  command.allow_extras();
  takes(*command.add_option("DIR", arguments->results, "folder of a sweep or of a run")->required(), Place::folder);
  takes(*command.add_option("--tensorboard", arguments->tensorboard, "folder for event files that TensorBoard reads")->required(),
        Place::folder);
  add_json_switch(command, arguments->json);
  when_called(command, [arguments] { export_results(*arguments); });
}

}  // namespace fedstride
