#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/fleet_flags.hpp"
#include "cli/in_python.hpp"
#include "cli/terminal/columns.hpp"
#include "cli/terminal/host.hpp"
#include "cli/terminal/results.hpp"
#include "cli/terminal/sweep_progress.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/program_name.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "data/shared_datasets.hpp"
#include "sweep/cells/accounted.hpp"
#include "sweep/cells/cell_keys.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/cells/estimate.hpp"
#include "sweep/cells/grid.hpp"
#include "sweep/cells/sweep_folder.hpp"
#include "sweep/ranks/mpi_sweep.hpp"
#include "sweep/results/together.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kManyCells = 10'000;

struct SweepFlags : CellsFlags {
  FleetFlags fleet;
  int ranks_per_cell = 1;
  std::string shard = "1/1";
  std::string by;
  bool dry_run = false;
  bool yes = false;
  bool quiet = false;
  bool json = false;
  bool report = false;
  bool accounted = false;
  double accounted_mean = 10;
  std::string accounted_shape = "1";
};

// Reads a shard: "2/4" is the second of four.
void read_shard(const std::string& text, SweepOptions& options) {
  const auto parts = split(text, '/');
  std::size_t which = 0;
  if (parts.size() != 2 || !parse_number(parts[0], which) || !parse_number(parts[1], options.shards) || which < 1 ||
      which > options.shards || options.shards > 1'000'000)
    throw usage_error("shard is '" + text +
                      "'; it must be I/N with I from 1 to N: 1/4, 2/4, 3/4 and 4/4 together are the whole sweep");
  options.shard = which - 1;
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
  if (as_json) return print_json({{"folder", folder.string()}, {"seconds", total}, {"cells", list}});
  const std::string jobs = options.jobs > 1 ? ", with " + std::to_string(options.jobs) + " at a time" : "";
  std::printf("%s; estimated time %s%s, measured here", counted(mine.size(), "cell").c_str(),
              clock_text(total / options.jobs).c_str(), jobs.c_str());
  if (unknown > 0) std::printf(", unknown for %zu", unknown);
  std::printf("; results would go to %s\n", folder.c_str());
}

// Prints each reason for refusing cells once; the error that follows names the first cell.
void show_refused(const RefusedCells& refused, const SweepFlags& arguments) {
  if (arguments.json) {
    Json list = Json::array();
    for (const RefusedGroup& group : refused.groups) {
      list.push_back({{"reason", one_line(group.reason)}, {"exclude", Json::array()}, {"cells", Json::array()}});
      for (const std::string& exclusion : group.exclusions) list.back()["exclude"].push_back(exclusion);
      for (const Cell& cell : group.cells) list.back()["cells"].push_back(point_text(cell));
    }
    return print_json({{"refused", list}});
  }
  const bool is_one = refused.groups.size() == 1 && refused.groups.front().cells.size() == 1;
  if (arguments.quiet || is_one) return;  // the error suffices
  for (const RefusedGroup& group : refused.groups) {
    std::printf("refused: %s: %s\n", counted(group.cells.size(), "cell").c_str(), one_line(group.reason).c_str());
    if (!group.exclusions.empty())
      std::printf("  to leave them out: exclude = [%s]\n", one_line(joined(group.exclusions)).c_str());
  }
}

// Counts finished cells as failed if their results could not be read for the tables.
void count_unreadable(const Json& errors, SweepSummary& summary) {
  for (const Cell& cell : summary.finished_cells)
    if (const auto found = errors.find(cell.key); found != errors.end()) {
      summary.failed.emplace_back(cell, found->text());
      --summary.finished;
    }
}

void show_claims(const Json& claims) {
  for (const Json& claim : claims) {
    const std::string& status = claim.at("status").text();
    std::printf("%s: %s (%s)\n", status.c_str(), claim.at("claim").text().c_str(), claim.at("text").text().c_str());
    if (const std::string& reason = claim.at("reason").text(); status == "fails" && !reason.empty())
      std::printf("  reason: %s\n", reason.c_str());
  }
}

void show_end(const SweepSummary& summary, bool has_tables) {
  std::printf("%zu of %s finished", summary.finished, counted(summary.cells, "cell").c_str());
  if (!summary.failed.empty()) std::printf(", %zu failed", summary.failed.size());
  if (summary.held_elsewhere > 0) std::printf(", %zu held by another process", summary.held_elsewhere);
  if (has_tables) std::printf("; tables in %s", summary.folder.c_str());
  if (summary.others > 0) std::printf("; not in the tables: %s from another grid", counted(summary.others, "cell").c_str());
  std::printf("\n");
  std::fflush(stdout);
}

Json summary_of(const SweepSummary& summary, const Json& claims, const std::vector<CostTogether>& costs) {
  Json json{{"folder", summary.folder.string()},        {"cells", summary.cells},   {"finished", summary.finished},
            {"held_elsewhere", summary.held_elsewhere}, {"others", summary.others}, {"interrupted", summary.interrupted}};
  Json& failed = json["failed"] = Json::array();
  for (const auto& [cell, error] : summary.failed)
    failed.push_back({{"cell", point_text(cell)}, {"error", one_line(error)}, {"command", cell.command}});
  Json& expectations = json["expectations"] = Json::array();
  for (const Json& claim : claims) {
    expectations.push_back(claim);
    expectations.back().erase("reason");
  }
  if (!costs.empty()) json["together"] = Json::array();
  for (const CostTogether& cost : costs) json["together"].push_back(cost_json(cost));
  return json;
}

SweepPlan read_plan(const SweepFlags& arguments) {
  SweepOptions options{.out = arguments.out, .jobs = arguments.jobs, .threads = arguments.threads};
  read_shard(arguments.shard, options);
  Experiment experiment = read_experiment(arguments.file, arguments.scale, arguments.fixed);
  if (experiment.command != "run") options.program = host().program();
  options.run_own = host().run_own;
  experiment.has_code = static_cast<bool>(options.run_own);
  const std::size_t count = cell_count(experiment);
  if (count > kManyCells && !arguments.yes)
    throw usage_error("'" + arguments.file + "' has " + std::to_string(count) + " cells, more than " +
                      std::to_string(kManyCells) + "; add --yes to run them all");
  check_cells(experiment);
  const std::filesystem::path folder = sweep_path(experiment, options.out);
  check_sweep_folder(folder, experiment);
  if (!arguments.dry_run) keep_sweep_key(folder, experiment);
  std::vector<Cell> cells = expand(experiment, options.inputs, sweep_key(folder));
  return {std::move(experiment), std::move(cells), std::move(options)};
}

using SweepAll = std::function<SweepSummary(const SweepPlan& plan, const SweepObserver& observer)>;

void carry_out(const SweepFlags& arguments, CLI::App& command, const SweepAll& sweep_all) {
  const SharedDatasets datasets;  // read once, for computing the cells' keys and for running the cells
  check_flags(command);
  if (arguments.ranks_per_cell != 1 && !arguments.fleet.on_ranks())
    throw usage_error("ranks-per-cell is " + std::to_string(arguments.ranks_per_cell) + "; it needs --fleet mpi");
  if (!arguments.by.empty() && !arguments.report)
    throw usage_error("by is '" + arguments.by + "', which is for figures; it needs --report");
  const bool is_told = !arguments.quiet && !arguments.json;
  const SweepPlan plan = [&] {
    try {
      return read_plan(arguments);
    } catch (const RefusedCells& refused) {
      show_refused(refused, arguments);
      throw;
    }
  }();
  if (!arguments.quiet) print_replaced(plan.experiment);
  if (arguments.dry_run) return show_cells(plan.experiment, plan.cells, plan.options, arguments.json);

  const StopLater until_told;  // a stopped cell is not a failed one
  SweepProgress progress(!is_told);
  SweepSummary summary = sweep_all(plan, progress.observer(stop_on_signals()));
  progress.end();
  const bool is_stopped = summary.interrupted && summary.finished + summary.failed.size() < summary.cells;
  const std::filesystem::path page = summary.folder / "report.html";
  const bool has_page = arguments.report && summary.finished > 0;
  SweepTables tables;  // a stopped sweep has none
  if (!is_stopped) tables = write_tables(summary.folder, arguments.by, has_page ? page.string() : "");
  count_unreadable(tables.failed, summary);
  const std::vector<CostTogether> costs = cost_together(summary.folder, summary.finished_cells);
  if (arguments.json) print_json(summary_of(summary, tables.claims, costs));
  if (is_told) {
    if (!is_stopped && plan.options.shards == 1) {
      print_means(Json::array({tables.sweep}));
      show_claims(tables.claims);
    }
    show_end(summary, tables.are_written);
    for (const CostTogether& cost : costs) std::printf("%s\n", cost_text(cost).c_str());
  }
  for (const auto& [cell, error] : summary.failed)
    std::cerr << "fedstride: cell (" << point_text(cell) << ") failed: " << error
              << "; repeat it with: " << in_own_name(cell.command) << "\n";
  if (is_stopped) {
    std::cerr << "fedstride: stopped; resume with: " << own_command(command) << "\n";
    throw CLI::RuntimeError(130);
  }
  if (!tables.error.empty()) throw failure(tables.error);
  print_note(tables);
  if (!summary.failed.empty()) throw CLI::RuntimeError(1);
  if (is_told && tables.are_written)
    std::printf("page: %s\n",
                has_page ? page.c_str() : (program_name() + " report " + shell_quoted(summary.folder.string())).c_str());
}

Selection selection_of(const SweepFlags& arguments) {
  Selection selection{.mean = arguments.accounted_mean};
  if (arguments.accounted_shape == "poisson")
    selection.runs = SelectionRuns::poisson;
  else if (!parse_number(arguments.accounted_shape, selection.shape))
    throw usage_error(
        "accounted-shape is '" + arguments.accounted_shape +
        "'; valid: poisson, or the shape of a truncated negative binomial distribution (1: geometric, 0: logarithmic)");
  return selection;
}

// Runs the sweep and shows only the winner.
void choose(const SweepFlags& arguments, CLI::App& command) {
  check_flags(command);
  if (arguments.jobs != 1 || arguments.shard != "1/1" || arguments.dry_run || arguments.report || !arguments.by.empty())
    throw usage_error(
        "--accounted shows one winner only: it cannot be combined with --jobs, --shard, --dry-run, --report or --by");
  const StopLater until_told;
  const AccountedChoice choice = sweep_accounted(
      read_experiment(arguments.file, arguments.scale, arguments.fixed),
      {.out = arguments.out, .threads = arguments.threads, .selection = selection_of(arguments), .stop = stop_on_signals()});
  if (choice.interrupted) {
    std::cerr << "fedstride: stopped; resume with: " << own_command(command) << "\n";
    throw CLI::RuntimeError(130);
  }
  const std::filesystem::path statement = choice.folder / "statement.json";
  if (arguments.json) return print_json(parse_json(read_file(statement, 1 << 20)));
  if (arguments.quiet) return;
  if (choice.cell.empty())
    std::printf("no run was drawn, so there is no winner\n");
  else
    std::printf("winner: %s, test %s %s, in %s\n", choice.cell.c_str(), choice.metric.c_str(), number_text(choice.score).c_str(),
                (choice.folder / "winner").c_str());
  for (const AccountedStatement& one : choice.statements)
    std::printf("%s level: epsilon %s at delta %s, including the choice (a single run: %s); all other runs are deleted\n",
                std::string(name_of(one.level)).c_str(), rounded_up(one.total).c_str(), number_text(one.delta).c_str(),
                rounded_up(one.single).c_str());
}

void carry_out_here(const SweepFlags& arguments, CLI::App& command) {
  carry_out(arguments, command, [](const SweepPlan& plan, const SweepObserver& observer) {
    return sweep(plan.experiment, plan.cells, plan.options, observer);
  });
}

void carry_out_on_ranks(const SweepFlags& arguments, CLI::App& command) {
  const std::atomic<bool>* stop = stop_on_signals();
  const auto ranks = join_ranks(arguments.fleet, stop);
  // All ranks see the same command line; only rank 0 reports what is wrong with it.
  const auto refuse = [&](const std::string& why) {
    if (ranks->rank() == 0) throw usage_error(why);
    throw CLI::RuntimeError(static_cast<int>(Error::Kind::usage));
  };
  if (arguments.jobs != 1) refuse("jobs is " + std::to_string(arguments.jobs) + "; with --fleet mpi only 1 is valid");
  if (arguments.shard != "1/1")
    refuse("shard is '" + arguments.shard + "'; it cannot be combined with --fleet mpi, which runs all cells");
  if (ranks->size() % arguments.ranks_per_cell != 0)
    refuse("ranks-per-cell is " + std::to_string(arguments.ranks_per_cell) + "; there are " + std::to_string(ranks->size()) +
           " ranks, and it must divide that number");
  const MpiJob job{.command_line = {}, .data_dir = {}, .stop = stop};
  SweepGroups groups(*ranks, arguments.ranks_per_cell, job);
  if (!groups.leads()) return work_for_rank_0(groups.own(), job);
  if (!groups.leads_all()) return follow_sweep(groups, job, [&] { return read_plan(arguments); });
  carry_out(arguments, command,
            [&](const SweepPlan& plan, const SweepObserver& observer) { return lead_sweep(groups, job, plan, observer); });
}

}  // namespace

void add_sweep_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("sweep", "Run every unfinished cell of an experiment file.");
  command.footer(
      "An experiment file is a run's configuration plus a [sweep] table of lists (docs/sweeps.md). Any flag of 'fedstride run'\n"
      "fixes its setting: it overrides the file, and the setting is no longer swept. A finished cell is never run again; an\n"
      "interrupted one resumes from its checkpoint. Exit code: 2 if a cell's settings are invalid (then nothing is read or "
      "run),\n"
      "1 if a cell failed, 130 if stopped.\n"
      "Example: fedstride sweep experiments/koskela/koskela-figure-1a/experiment.toml --scale quick --jobs 2");
  auto arguments = std::make_shared<SweepFlags>();
  add_cells_flags(command, *arguments, "sweep");
  add_flag(command, "--shard", arguments->shard, {.word = "I/N"}, "run only every N-th cell, starting with the I-th");
  add_by_flag(command, arguments->by);
  add_switch(command, "--dry-run", arguments->dry_run, "print the cells and the estimated time, but run nothing");
  add_switch(command, "--yes", arguments->yes, "allow more than 10000 cells");
  add_switch(command, "--quiet", arguments->quiet, "print nothing but errors");
  add_switch(command, "--report", arguments->report, "write report.html to the sweep's folder when the cells are done");
  add_json_switch(command, arguments->json);
  add_switch(command, "--accounted", arguments->accounted,
             "make a secret, random number of private runs, show and keep only the best, and account for the choice");
  add_number_flag(command, "--accounted-mean", arguments->accounted_mean, {.low = 0, .high = 1e6},
                  "--accounted: expected number of runs");
  add_flag(command, "--accounted-shape", arguments->accounted_shape, {.word = "SHAPE"},
           "--accounted: distribution of that number: shape of a truncated negative binomial (1: geometric, 0: logarithmic), or "
           "poisson");
  add_fleet_flags(command, arguments->fleet);
  add_number_flag(command, "--ranks-per-cell", arguments->ranks_per_cell, {.low = 1, .high = 1e6},
                  "with --fleet mpi: MPI ranks that work on one cell together");
  command.callback([arguments, &command] {
    if (arguments->accounted) {
      if (arguments->fleet.on_ranks()) throw usage_error("--accounted cannot be combined with --fleet mpi");
      return choose(*arguments, command);
    }
    arguments->fleet.on_ranks() ? carry_out_on_ranks(*arguments, command) : carry_out_here(*arguments, command);
  });
}

}  // namespace fedstride
