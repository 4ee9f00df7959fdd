#include <chrono>
#include <cstdio>
#include <thread>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/in_python.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "sweep/results/task.hpp"

namespace fedstride {
namespace {

struct ExportFlags {
  std::string results;
  std::string tensorboard;
  bool follow = false;
  bool json = false;
};

void export_results(const ExportFlags& arguments) {
  if (arguments.results.empty()) throw usage_error("DIR is ''; it must name a folder");
  Json written;
  for (bool again = false;; again = true) {
    Json task = report_task();
    task["sweeps"].push_back(sweep_task(arguments.results));
    task.update({{"do", "export"}, {"out", arguments.tensorboard}, {"adds", again}, {"follow", arguments.follow}});
    written = in_python(task);
    if (!arguments.follow || written.at("unfinished").get<std::size_t>() == 0) break;
    std::this_thread::sleep_for(std::chrono::seconds(5));
  }
  const std::size_t runs = written.at("runs").size();
  if (runs == 0) throw failure("'" + arguments.results + "' has no finished round yet; there is nothing to export");
  written["folder"] = arguments.tensorboard;
  if (arguments.json) return print_json(written);
  std::printf("%s in %s\n", counted(runs, "run").c_str(), arguments.tensorboard.c_str());
  if (const auto without = written.at("without_rounds").get<std::size_t>(); without > 0)
    std::printf("%zu %s no round yet\n", without, without == 1 ? "cell has" : "cells have");
  if (const auto left_out = written.at("clients_left_out").get<std::size_t>(); left_out > 0)
    std::printf("rounds.jsonl has %zu more clients, which are not exported\n", left_out);
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
  add_switch(command, "--follow", flags.follow, "add rounds as they are finished, until all runs are");
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
