#include <cstdio>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "sweep/report/tensorboard.hpp"

namespace fedstride {
namespace {

struct ExportFlags {
  std::string results;
  std::string tensorboard;
  bool json = false;
};

void export_results(const ExportFlags& arguments) {
  if (arguments.results.empty()) throw usage_error("DIR is ''; it must name a folder");
  const TensorBoardExport written = export_tensorboard(read_results(arguments.results), arguments.tensorboard);
  if (written.runs.empty()) throw failure("'" + arguments.results + "' has no finished round yet; there is nothing to export");
  if (arguments.json)
    return print_json({{"folder", arguments.tensorboard},
                       {"runs", written.runs},
                       {"without_rounds", written.without_rounds},
                       {"clients_left_out", written.clients_left_out}});
  std::printf("%s in %s\n", counted(written.runs.size(), "run").c_str(), arguments.tensorboard.c_str());
  if (written.without_rounds > 0)
    std::printf("%zu %s no round yet\n", written.without_rounds, written.without_rounds == 1 ? "cell has" : "cells have");
  if (written.clients_left_out > 0)
    std::printf("only clients 0 to %u are exported; rounds.jsonl has %zu more\n", kMaxExportedClients - 1,
                written.clients_left_out);
  std::printf("view with: tensorboard --logdir %s\n", arguments.tensorboard.c_str());
}

}  // namespace

void add_export_command(CLI::App& app) {
  const auto [command, flags] = add_command<ExportFlags>(
      app, "export", "Export results for TensorBoard.",
      "Each run becomes a folder with one step for each round; the tags are accuracy/..., loss/..., privacy/epsilon,\n"
      "clients/..., training/... and time/.... Cells of a sweep are named by the settings that vary. Exporting again replaces\n"
      "the files.\n"
      "Example: fedstride export sweeps/koskela-figure-1a --tensorboard boards/figure-1a",
      export_results);
  add_flag(command, "DIR", flags.results, Place::folder, "folder of a sweep or of a run", Needed::yes);
  add_flag(command, "--tensorboard", flags.tensorboard, Place::folder, "folder for TensorBoard's event files", Needed::yes);
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
