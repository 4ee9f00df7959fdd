#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/fleet_flags.hpp"
#include "cli/settings_flags.hpp"
#include "cli/terminal/clock_text.hpp"
#include "cli/terminal/host.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "cli/terminal/sweep_progress.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/one_line.hpp"
#include "core/parse_number.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "mpi/mpi_sweep.hpp"
#include "report/report.hpp"
#include "sweep/cells/cell_keys.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/cells/estimate.hpp"
#include "sweep/cells/sweep_folder.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kManyCells = 10'000;

struct SweepFlags {
  FleetFlags fleet;
  int ranks_per_cell = 1;
  std::string file;
  std::string out;
  std::optional<std::string> shard;
  std::string scale = "full";
  int jobs = 1;
  int threads = 0;
  bool dry_run = false;
  bool yes = false;
  bool quiet = false;
  bool json = false;
  bool report = false;
  Settings fixed;
};

// "2/4": the second of four.
void read_shard(const std::string& text, SweepOptions& options) {
  const auto parts = split(text, '/');
  std::size_t which = 0;
  if (parts.size() != 2 || !parse_number(parts[0], which) || !parse_number(parts[1], options.shards) || which < 1 ||
      which > options.shards || options.shards > 1'000'000)
    throw usage_error("shard is '" + text + "'; it must be I/N with I from 1 to N: 1/4, 2/4, 3/4 and 4/4 are everything");
  options.shard = which - 1;
}

// The command that does this again.
std::string own_command(const SweepFlags& arguments) {
  std::string command = "fedstride sweep " + shell_quoted(arguments.file);
  const auto add = [&](const std::string& flag, const std::string& value) { command += " " + flag + " " + shell_quoted(value); };
  if (arguments.fleet.on_ranks()) add("--fleet", arguments.fleet.fleet);
  if (arguments.ranks_per_cell != 1) add("--ranks-per-cell", std::to_string(arguments.ranks_per_cell));
  if (!arguments.out.empty()) add("--out", arguments.out);
  if (arguments.jobs != 1) add("--jobs", std::to_string(arguments.jobs));
  if (arguments.threads != 0) add("--threads", std::to_string(arguments.threads));
  if (arguments.shard) add("--shard", *arguments.shard);
  if (arguments.scale != "full") add("--scale", arguments.scale);
  if (arguments.yes) command += " --yes";
  if (arguments.report) command += " --report";
  for (const auto& [key, setting] : arguments.fixed) {
    if (const auto* text = std::get_if<std::string>(&setting.value))
      add("--" + key, *text);
    else
      command += " --" + key;
  }
  return command;
}

void show_cells(const Experiment& experiment, const std::vector<Cell>& cells, const SweepOptions& options, bool as_json) {
  const auto folder = sweep_path(experiment, options.out);
  check_sweep_folder(folder, experiment);
  std::vector<Cell> mine;
  for (std::size_t i = options.shard; i < cells.size(); i += options.shards) mine.push_back(cells[i]);
  const std::vector<CellEstimate> estimates = estimate(experiment, mine, options);
  Json list = Json::array();
  if (!as_json) std::printf("%-16s  %-10s  %9s  %s\n", "key", "state", "time", "cell");
  double total = 0;
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const CellState state = cell_state(folder, experiment, mine[i], options.inputs);
    const auto& [seconds, why] = estimates[i];
    if (std::isfinite(seconds))
      total += seconds;
    else
      ++unknown;
    list.push_back({{"key", mine[i].key},
                    {"state", name_of(state.kind)},
                    {"cell", point_text(mine[i])},
                    {"seconds", number_or_null(seconds)}});
    if (!why.empty()) list.back()["why"] = one_line(why);
    if (as_json) continue;
    std::printf("%s  %-10s  %9s  %s%s\n", mine[i].key.c_str(), std::string(name_of(state.kind)).c_str(),
                seconds != 0 ? clock_text(seconds).c_str() : "-", point_text(mine[i]).c_str(),
                why.empty() ? "" : one_line(": " + why).c_str());
  }
  if (as_json) {
    std::cout << dump_json(Json{{"folder", folder.string()}, {"seconds", total}, {"cells", list}}, 2) << "\n";
    return;
  }
  std::printf("%s; about %s in all, %s with %d at a time, measured here", counted(mine.size(), "cell").c_str(),
              clock_text(total).c_str(), clock_text(total / options.jobs).c_str(), options.jobs);
  if (unknown > 0) std::printf(", %zu not known", unknown);
  std::printf("; results would go to %s\n", folder.c_str());
}

void show_claims(const SweepSummary& summary) {
  for (const ExpectationResult& result : summary.expectations) {
    std::printf("%s: %s (%s)\n", result.status.c_str(), result.expectation.claim.c_str(), result.text.c_str());
    if (result.status == "fails" && !result.expectation.reason.empty())
      std::printf("  reason: %s\n", result.expectation.reason.c_str());
  }
}

void show_end(const SweepSummary& summary) {
  std::printf("%zu of %s finished", summary.finished, counted(summary.cells, "cell").c_str());
  if (!summary.failed.empty()) std::printf(", %zu failed", summary.failed.size());
  if (summary.held_elsewhere > 0) std::printf(", %zu held by another process", summary.held_elsewhere);
  if (summary.tables_error.empty()) std::printf("; tables in %s", summary.folder.c_str());
  if (summary.others > 0) std::printf("; not in the tables: %s of another grid", counted(summary.others, "cell").c_str());
  std::printf("\n");
  std::fflush(stdout);
}

Json summary_of(const SweepSummary& summary) {
  Json json{{"folder", summary.folder.string()},        {"cells", summary.cells},   {"finished", summary.finished},
            {"held_elsewhere", summary.held_elsewhere}, {"others", summary.others}, {"interrupted", summary.interrupted}};
  Json& failed = json["failed"] = Json::array();
  for (const auto& [cell, error] : summary.failed)
    failed.push_back({{"cell", point_text(cell)}, {"error", one_line(error)}, {"command", cell.command}});
  Json& expectations = json["expectations"] = Json::array();
  for (const ExpectationResult& result : summary.expectations)
    expectations.push_back({{"claim", result.expectation.claim}, {"status", result.status}, {"text", result.text}});
  return json;
}

SweepPlan read_plan(const SweepFlags& arguments) {
  SweepOptions options{.out = arguments.out, .jobs = arguments.jobs, .threads = arguments.threads};
  if (arguments.shard) read_shard(*arguments.shard, options);
  Experiment experiment = read_experiment(arguments.file, arguments.scale, arguments.fixed);
  if (experiment.command != "run") options.program = host().program();
  const std::size_t count = cell_count(experiment);
  if (count > kManyCells && !arguments.yes)
    throw usage_error("'" + arguments.file + "' has " + std::to_string(count) + " cells, more than " +
                      std::to_string(kManyCells) + "; say --yes if that is meant");
  const std::filesystem::path folder = sweep_path(experiment, options.out);
  check_sweep_folder(folder, experiment);
  if (!arguments.dry_run) keep_sweep_key(folder, experiment);
  std::vector<Cell> cells = expand(experiment, options.inputs, sweep_key(folder));
  return {std::move(experiment), std::move(cells), std::move(options)};
}

using SweepAll = std::function<SweepSummary(const SweepPlan& plan, const SweepObserver& observer)>;

void carry_out(const SweepFlags& arguments, const CLI::App& command, const SweepAll& sweep_all) {
  check_flags(command);
  if (arguments.ranks_per_cell != 1 && !arguments.fleet.on_ranks())
    throw usage_error("ranks-per-cell is " + std::to_string(arguments.ranks_per_cell) + "; it needs --fleet mpi");
  const bool is_told = !arguments.quiet && !arguments.json;
  const SweepPlan plan = read_plan(arguments);
  if (arguments.dry_run) return show_cells(plan.experiment, plan.cells, plan.options, arguments.json);

  const StopLater until_told;  // a cell that is stopped has not failed
  SweepProgress progress(!is_told);
  const SweepSummary summary = sweep_all(plan, progress.observer(stop_on_signals()));
  progress.end();
  if (arguments.json) std::cout << dump_json(summary_of(summary), 2) << "\n";
  if (is_told) {
    if (!summary.interrupted && plan.options.shards == 1) show_claims(summary);
    show_end(summary);
  }
  for (const auto& [cell, error] : summary.failed)
    std::cerr << "fedstride: cell (" << point_text(cell) << ") failed: " << error << "; repeat it by: " << cell.command << "\n";
  if (!summary.tables_error.empty()) throw failure(summary.tables_error);
  if (summary.interrupted && summary.finished + summary.failed.size() < summary.cells) {
    std::cerr << "fedstride: stopped; go on with: " << own_command(arguments) << "\n";
    throw CLI::RuntimeError(130);
  }
  const std::filesystem::path page = summary.folder / "report.html";
  const bool has_page = arguments.report && summary.finished > 0;
  if (has_page) write_report({read_results(summary.folder)}, page.string());
  if (!summary.failed.empty()) throw CLI::RuntimeError(1);
  if (is_told)
    std::printf("page: %s\n", has_page ? page.c_str() : ("fedstride report " + shell_quoted(summary.folder.string())).c_str());
}

void carry_out_here(const SweepFlags& arguments, const CLI::App& command) {
  carry_out(arguments, command, [](const SweepPlan& plan, const SweepObserver& observer) {
    return sweep(plan.experiment, plan.cells, plan.options, observer);
  });
}

void carry_out_on_ranks(const SweepFlags& arguments, const CLI::App& command) {
  const std::atomic<bool>* stop = stop_on_signals();
  const auto ranks = join_ranks(arguments.fleet, stop);
  // All ranks see the same command line; one of them says what is wrong with it.
  const auto refuse = [&](const std::string& why) {
    if (ranks->rank() == 0) throw usage_error(why);
    throw CLI::RuntimeError(static_cast<int>(Error::Kind::usage));
  };
  if (arguments.jobs != 1) refuse("jobs is " + std::to_string(arguments.jobs) + "; with --fleet mpi only 1 is valid");
  if (arguments.shard) refuse("shard is '" + *arguments.shard + "'; it does not go with --fleet mpi, which has all cells");
  if (ranks->size() % arguments.ranks_per_cell != 0)
    refuse("ranks-per-cell is " + std::to_string(arguments.ranks_per_cell) + "; there are " + std::to_string(ranks->size()) +
           " ranks, a number that divides them is valid");
  const MpiJob job{.command_line = {}, .data_dir = {}, .stop = stop};
  SweepGroups groups(*ranks, arguments.ranks_per_cell, job);
  if (!groups.leads()) return work_for_rank_0(groups.own(), job);
  if (!groups.leads_all()) return follow_sweep(groups, job, [&] { return read_plan(arguments); });
  carry_out(arguments, command,
            [&](const SweepPlan& plan, const SweepObserver& observer) { return lead_sweep(groups, job, plan, observer); });
}

}  // namespace

void add_sweep_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("sweep", "Run every cell of an experiment file that is not finished yet.");
  command.footer(
      "An experiment file is a run's configuration plus a [sweep] table of lists; docs/sweeps.md has all of it. Any "
      "flag of\n"
      "'fedstride run' fixes that key: it wins over the file, and the key is not swept any more. A finished cell is "
      "never run\n"
      "again; one that was broken off goes on from its checkpoint. Exit code: 1 if a cell failed, 130 when stopped.\n"
      "Example: fedstride sweep experiments/koskela-figure-1a/experiment.toml --scale quick --jobs 2");
  auto arguments = std::make_shared<SweepFlags>();
  takes(*command.add_option("FILE", arguments->file, "the experiment file")->required(), Place::file);
  takes(*command.add_option("--out", arguments->out, "folder of the sweep [sweeps/NAME]; a sweep that is there goes on"),
        Place::folder);
  add_number_flag(command, "--jobs", arguments->jobs, {.low = 1, .high = 1024}, "cells at a time; no result depends on it");
  add_number_flag(command, "--threads", arguments->threads, {.low = 0, .high = 1024},
                  "threads of all cells together; 0: one for each processor");
  takes(*command.add_option_function<std::string>(
            "--shard", [arguments](const std::string& text) { arguments->shard = text; },
            "I/N: only every N-th cell, beginning with the I-th"),
        {.word = "I/N"});
  add_choice_flag(command, "--scale", arguments->scale, {"quick", "full"}, "whose overrides of the file are used");
  add_switch(command, "--dry-run", arguments->dry_run, "print the cells and how long they would take here, and run nothing");
  add_switch(command, "--yes", arguments->yes, "also for more than 10000 cells");
  add_switch(command, "--quiet", arguments->quiet, "print nothing but errors");
  add_switch(command, "--report", arguments->report, "make the page, report.html in the sweep's folder, when the cells are done");
  add_json_switch(command, arguments->json);
  add_settings_flags(command, arguments->fixed,
                     [](const KeyInfo& key) { return key.name != "out" && key.name != "threads" && key.name != "quiet"; });
  for (const KeyInfo& key : all_keys())
    if (key.name != "out" && key.name != "threads" && key.name != "quiet")
      command.get_option("--" + key.name)->group("");  // 'fedstride run --help' lists them
  add_fleet_flags(command, arguments->fleet);
  add_number_flag(command, "--ranks-per-cell", arguments->ranks_per_cell, {.low = 1, .high = 1e6},
                  "ranks of --fleet mpi that work on a cell together");
  command.callback([arguments, &command] {
    arguments->fleet.on_ranks() ? carry_out_on_ranks(*arguments, command) : carry_out_here(*arguments, command);
  });
}

}  // namespace fedstride
