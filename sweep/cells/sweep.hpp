#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/run/fleets.hpp"
#include "sim/run/run.hpp"
#include "sweep/file/experiment.hpp"

namespace fedstride {

/// Carries out a run with the user's own code, which the calling process has: a new one with these settings or, if
/// they have no `out`, one to resume in this folder. Returns false if it was stopped. Throws Error.
using RunOwn = std::function<bool(const Settings& settings, const std::string& folder)>;

struct SweepOptions {
  std::string out = {};   ///< folder; empty: sweeps/NAME
  int jobs = 1;           ///< cells at a time; each uses threads / jobs threads
  int threads = 0;        ///< total over all jobs; 0: one per processor
  std::size_t shard = 0;  ///< 0 to `shards` - 1: this shard's first cell; its others follow at intervals of `shards`
  std::size_t shards = 1;
  std::string program = {};               ///< this program, for cells of commands other than run
  InputHashes inputs = {};                ///< as filled in by expand()
  std::vector<std::size_t> order = {};    ///< indices of the cells to work on, in this order; empty: the shard's cells
  FleetMaker fleet = {in_process_fleet};  ///< for cells that are runs; with any other fleet, jobs must be 1
  RunOwn run_own = {};                    ///< for cells with the setting `code`; empty: they fail
  std::uint32_t pause_after = 0;          ///< runs stop after this round and then count as finished; 0: never
};

/// Callbacks for an observer of a sweep; called from several threads, one call at a time. Any may be empty.
struct SweepObserver {
  std::function<void(std::size_t cells, std::size_t done_before)> started;
  std::function<void(const Cell&, int job)> cell_started;
  std::function<void(const Cell&, int job, std::uint32_t round, std::uint32_t rounds, const RoundRecord& record)> round;
  std::function<void(const Cell&, int job, const std::string& error)> cell_ended;  ///< empty error: the cell is finished
  const std::atomic<bool>* stop = nullptr;
};

struct SweepSummary {
  std::filesystem::path folder;
  std::size_t cells = 0;           ///< cells of this shard
  std::size_t finished = 0;        ///< including cells finished earlier
  std::size_t held_elsewhere = 0;  ///< cells that another process is still running
  std::size_t others = 0;          ///< folders of cells outside this grid, which are left unchanged
  bool interrupted = false;
  std::vector<std::pair<Cell, std::string>> failed = {};  ///< each with its error
  std::vector<Cell> finished_cells = {};
};

/// Runs the unfinished cells of an experiment. The folder:
///
///   experiment.toml, sweep.json (see write_sweep_folder)                        cells/KEY/ (a run's folder, or result.json)
///   cells.csv rounds.csv clients.csv summary.csv expectations.csv, by Python    cells/KEY/error.txt if the cell failed
///   weights/, first weights of models given in Python, which cells name
///
/// A cell is finished if its files say so; an unfinished run continues from its checkpoint. Several processes may work on one
/// folder at once (shards, or the same sweep twice): only one process at a time holds a cell. Throws Error (usage) if the folder
/// belongs to another experiment or contains something else.
SweepSummary sweep(const Experiment& experiment, const std::vector<Cell>& cells, const SweepOptions& options,
                   const SweepObserver& observer = {});

}  // namespace fedstride
