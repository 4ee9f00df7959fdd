#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/in_python.hpp"
#include "cli/terminal/host.hpp"
#include "cli/terminal/sweep_progress.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "data/shared_datasets.hpp"
#include "sweep/cells/cell_keys.hpp"
#include "sweep/cells/grid.hpp"
#include "sweep/cells/tune.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxTunedCells = 100'000;
constexpr std::size_t kMostShown = 10;

struct TuneFlags : CellsFlags {
  int eta = 3;
  int min_rounds = 1;
  bool hyperband = false;
  std::optional<std::uint64_t> configurations = {};
  std::optional<std::uint64_t> draw_seed = {};
  bool dry_run = false;
  bool quiet = false;
  bool json = false;
};

std::string rung_text(const RungResult& rung) {
  return "bracket " + std::to_string(rung.bracket + 1) + ", rung " + std::to_string(rung.rung + 1) + ": " +
         counted(rung.plan.configurations, "configuration") + " at " + counted(rung.plan.rounds, "round");
}

std::string score_text(const Score& score) {
  char text[80];
  if (std::isnan(score.value)) return "none";
  if (std::isnan(score.low))
    std::snprintf(text, sizeof text, "%.4f (with one seed, its noise is unknown)", score.value);
  else
    std::snprintf(text, sizeof text, "%.4f (%.4f to %.4f)", score.value, score.low, score.high);
  return text;
}

// "close: the cut, 0.8123, is within the 95 % interval of 2 chosen and 4 not chosen"; empty if no score is near the cut.
std::string noise_text(const RungOrder& order) {
  std::size_t near[2] = {0, 0};
  for (const RungPlace& one : order.places)
    if (one.is_near_cut) ++near[one.goes_on ? 0 : 1];
  if (std::isnan(order.cut) || (near[0] == 0 && near[1] == 0)) return "";
  char cut[32];
  std::snprintf(cut, sizeof cut, "%.4f", order.cut);
  return std::string(order.is_toss_up() ? "a toss-up: " : "close: ") + "the cut, " + cut + ", is within the 95 % interval of " +
         std::to_string(near[0]) + " chosen and " + std::to_string(near[1]) + " not chosen";
}

void show_rung(const TunePlan& plan, const RungResult& rung) {
  const bool is_last = rung.plan.rounds == plan.rounds;
  std::size_t shown = 0;
  for (const RungPlace& one : rung.order.places) {
    if (!one.goes_on) break;
    if (shown++ < kMostShown)
      std::printf("  %s: %s: %s %s\n", is_last ? "best" : "goes on", plan.name_of(one.configuration).c_str(), rung.metric.c_str(),
                  score_text(one.score).c_str());
  }
  if (shown > kMostShown) std::printf("  and %zu more\n", shown - kMostShown);
  if (const std::string noise = noise_text(rung.order); !noise.empty()) std::printf("  %s\n", noise.c_str());
  std::fflush(stdout);
}

void show_plan(const TunePlan& plan, bool as_json) {
  const std::uint64_t whole = static_cast<std::uint64_t>(plan.rounds) * plan.cells.size();
  if (as_json) {
    Json brackets = Json::array();
    for (const Bracket& bracket : plan.brackets) {
      Json rungs = Json::array();
      for (const Rung& rung : bracket) rungs.push_back({{"configurations", rung.configurations}, {"rounds", rung.rounds}});
      brackets.push_back(std::move(rungs));
    }
    return print_json(
        {{"tune", plan.text}, {"brackets", brackets}, {"rounds_of_work", plan.work}, {"rounds_of_the_grid", whole}});
  }
  std::printf("%s\n", plan.text.c_str());
  for (std::size_t i = 0; i < plan.brackets.size(); ++i)
    for (std::size_t j = 0; j < plan.brackets[i].size(); ++j)
      std::printf("%s\n", rung_text({.bracket = i, .rung = j, .plan = plan.brackets[i][j]}).c_str());
  std::printf("at most %s; the whole grid has %llu; results would go to %s\n", counted(plan.work, "round").c_str(),
              static_cast<unsigned long long>(whole), plan.folder.c_str());
}

void show_winner(const TunePlan& plan, const TuneSummary& summary) {
  const RungPlace& first = summary.final.places.front();
  std::printf("winner: %s, %s %s\n", plan.name_of(first.configuration).c_str(), summary.metric.c_str(),
              score_text(first.score).c_str());
  if (const std::string noise = noise_text(summary.final); !noise.empty()) std::printf("  %s\n", noise.c_str());
  std::printf("its run: %s; repeat it with: fedstride run --config %s\n", summary.run.c_str(),
              shell_quoted(summary.winner.string()).c_str());
}

void carry_out_tuning(const TuneFlags& arguments, CLI::App& command) {
  const SharedDatasets datasets;  // read once, for computing the cells' keys and for running the rungs
  check_flags(command);
  const bool is_told = !arguments.quiet && !arguments.json;
  const TuneOptions options{.out = arguments.out,
                            .jobs = arguments.jobs,
                            .threads = arguments.threads,
                            .eta = arguments.eta,
                            .min_rounds = arguments.min_rounds,
                            .hyperband = arguments.hyperband,
                            .draws = static_cast<std::size_t>(arguments.configurations.value_or(0)),
                            .draw_seed = arguments.draw_seed.value_or(1)};
  if (arguments.draw_seed && !arguments.configurations && !arguments.hyperband)
    throw usage_error("draw-seed is given, but nothing is drawn; it needs --configurations or --hyperband");
  const Experiment experiment = read_experiment(arguments.file, arguments.scale, arguments.fixed);
  if (const std::size_t count = cell_count(experiment); count > kMaxTunedCells)
    throw usage_error("'" + arguments.file + "' has " + std::to_string(count) + " cells; tune takes at most " +
                      std::to_string(kMaxTunedCells));
  const TunePlan plan = plan_tuning(experiment, options);
  if (!arguments.quiet) print_replaced(experiment);
  if (arguments.dry_run) return show_plan(plan, arguments.json);

  const StopLater until_told;  // a stopped cell is not a failed one
  std::unique_ptr<SweepProgress> progress;
  TuneObserver observer;
  observer.stop = stop_on_signals();
  if (is_told) {
    observer.begin = [&](const RungResult& rung) {
      std::printf("%s\n", rung_text(rung).c_str());
      progress = std::make_unique<SweepProgress>(false);
      return progress->observer(observer.stop);
    };
    observer.end = [&](const RungResult& rung) {
      progress.reset();
      show_rung(plan, rung);
    };
  }
  const TuneSummary summary = tune(experiment, plan, options, observer);
  if (progress) progress->end();
  if (arguments.json) {
    Json json = parse_json(tune_json(plan, summary));
    json["folder"] = plan.folder.string();
    json["interrupted"] = summary.interrupted;
    Json& failed = json["failed"] = Json::array();
    for (const auto& [cell, error] : summary.failed)
      failed.push_back({{"cell", point_text(cell)}, {"error", one_line(error)}, {"command", cell.command}});
    print_json(json);
  }
  for (const auto& [cell, error] : summary.failed)
    std::cerr << "fedstride: cell (" << point_text(cell) << ") failed, so its rung cannot be decided: " << error
              << "; repeat it with: " << cell.command << "\n";
  if (!summary.failed.empty()) throw CLI::RuntimeError(1);
  if (summary.interrupted) {
    std::cerr << "fedstride: stopped; resume with: " << own_command(command) << "\n";
    throw CLI::RuntimeError(130);
  }
  if (summary.held_elsewhere > 0)
    throw failure(counted(summary.held_elsewhere, "cell") +
                  " of the rung are being run by another process; repeat the command when it ends");
  const SweepTables tables = write_tables(plan.folder);
  if (!tables.error.empty()) throw failure(tables.error);
  print_note(tables);
  if (is_told) show_winner(plan, summary);
}

}  // namespace

void add_tune_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("tune", "Choose settings on validation rows by successive halving or Hyperband.");
  command.footer(
      "The grid is that of an experiment file with validation-fraction above 0 (docs/sweeps.md); all swept keys but the seed "
      "compete.\n"
      "Schedules span all rounds: a cell pauses after its rung's rounds and resumes if it is promoted, so it has the same bits\n"
      "as a cell of 'fedstride sweep', whose folder it shares. Under --dp, use 'fedstride sweep --accounted'. Exit code: 1 if a\n"
      "cell failed, 130 if stopped; the same command resumes.\n"
      "Example: fedstride tune rates.toml --hyperband --jobs 2");
  auto arguments = std::make_shared<TuneFlags>();
  add_cells_flags(command, *arguments, "tuning run");
  add_number_flag(command, "--eta", arguments->eta, {.low = 2, .high = 1000},
                  "one in this many configurations enters the next rung");
  add_number_flag(command, "--min-rounds", arguments->min_rounds, {.low = 1, .high = 2e9},
                  "minimum number of rounds of the first rung");
  add_switch(command, "--hyperband", arguments->hyperband,
             "run several successive-halving brackets, each with fewer configurations and more rounds, instead of one");
  add_number_flag(command, "--configurations", arguments->configurations, {.low = 2, .high = 1e6},
                  "number of configurations to try, drawn from the grid (default: all)");
  add_number_flag(command, "--draw-seed", arguments->draw_seed, {.low = 0, .high = 9e15},
                  "seed of the draws of --configurations and --hyperband (default: 1)");
  add_switch(command, "--dry-run", arguments->dry_run, "print the rungs and their rounds, but run nothing");
  add_switch(command, "--quiet", arguments->quiet, "print nothing but errors");
  add_json_switch(command, arguments->json);
  command.callback([arguments, &command] { carry_out_tuning(*arguments, command); });
}

}  // namespace fedstride
