#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sweep/cells/halving.hpp"
#include "sweep/cells/sweep.hpp"

namespace fedstride {

struct TuneOptions {
  std::string out = {};  ///< folder of the sweep; empty: sweeps/NAME
  int jobs = 1;
  int threads = 0;
  int eta = 3;         ///< one in this many configurations is promoted
  int min_rounds = 1;  ///< minimum number of rounds in the first rung
  bool hyperband = false;
  std::size_t draws = 0;        ///< configurations drawn from the grid; 0: all
  std::uint64_t draw_seed = 1;  ///< seed of these draws and of the order in which Hyperband takes configurations
};

/// The result of one rung of a bracket.
struct RungResult {
  std::size_t bracket = 0;
  std::size_t rung = 0;  ///< like `bracket`, counted from 0
  Rung plan = {};
  RungOrder order = {};
  std::string metric =
      {};  ///< metric of the scores: TunePlan::metric, or "validation_r2" if that metric is an accuracy but targets are numeric
};

/// The brackets of a grid, planned before anything is read or run.
struct TunePlan {
  std::filesystem::path folder = {};
  std::string metric = {};                                    ///< "validation_accuracy"
  std::uint32_t rounds = 0;                                   ///< rounds of a cell at full length
  std::vector<Cell> cells = {};                               ///< cells of the grid, without keys
  std::vector<std::vector<std::size_t>> configurations = {};  ///< each one's cells, which differ only in the seed
  std::vector<std::size_t> pool = {};                         ///< configurations in the order in which brackets take them
  std::vector<Bracket> brackets = {};
  std::vector<std::vector<std::size_t>> entries = {};    ///< each bracket's configurations
  std::string text = {};                                 ///< "successive halving of 9 configurations, eta 3, ..."
  std::uint64_t work = 0;                                ///< maximum rounds of all brackets; a promoted cell's rounds count once
  std::string name_of(std::size_t configuration) const;  ///< the configuration's point without the seed
};

/// Throws Error (usage) for a grid with fewer than two configurations, for cells that are private or lack validation rows, for
/// rungs without evaluation, and for unsuitable settings.
TunePlan plan_tuning(const Experiment& experiment, const TuneOptions& options);

struct TuneObserver {
  std::function<SweepObserver(const RungResult& rung)> begin = {};  ///< returns the observer of a rung's cells
  std::function<void(const RungResult& rung)> end = {};             ///< called once the rung is decided
  const std::atomic<bool>* stop = nullptr;
};

struct TuneSummary {
  bool interrupted = false;
  std::vector<std::pair<Cell, std::string>> failed = {};  ///< cells that left a rung undecided
  std::size_t held_elsewhere = 0;                         ///< cells that left a rung undecided because another process holds them
  std::vector<RungResult> rungs = {};
  RungOrder final = {};               ///< all configurations at full length; empty unless everything was decided
  std::string metric = {};            ///< RungResult::metric
  std::filesystem::path winner = {};  ///< the winner's settings, for `fedstride run --config`
  std::filesystem::path run = {};     ///< the run of the winner's first seed
};

/// Carries out the plan in a sweep's folder (sweep.hpp): a rung's cells run with the horizon of all rounds, pause after the
/// rung's last round, and continue from their checkpoints if promoted, so each cell is the same as in a sweep. Scores are read
/// from the cells, so calling tune again continues where the last call stopped. Writes tune/rungs.csv and tune/tune.json after
/// each rung, and tune/winner.toml and the sweep's tables at the end. A rung with a failed cell is not decided. Throws Error
/// (usage) if the folder holds a different tuning, and FolderInUse.
TuneSummary tune(const Experiment& experiment, const TunePlan& plan, const TuneOptions& options,
                 const TuneObserver& observer = {});

/// Returns the contents of tune.json.
std::string tune_json(const TunePlan& plan, const TuneSummary& summary);

}  // namespace fedstride
