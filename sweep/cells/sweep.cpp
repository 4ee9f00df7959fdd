#include "sweep/cells/sweep.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core/error.hpp"
#include "sim/threads.hpp"
#include "sweep/cells/run_cell.hpp"
#include "sweep/cells/sweep_folder.hpp"
#include "sweep/results/tables.hpp"

namespace fedstride {
namespace {

class Sweep {
 public:
  Sweep(const Experiment& experiment, const std::vector<Cell>& cells, const SweepOptions& options, const SweepObserver& observer,
        const InputHashes& inputs, const std::filesystem::path& folder)
      : work_{.experiment = experiment,
              .sweep = folder,
              .program = options.program,
              .stop = observer.stop,
              .fleet = options.fleet},
        observer_(observer),
        inputs_(inputs),
        jobs_(options.jobs) {
    const int threads = Threads(options.threads).count();
    work_.threads = std::max(1, threads / jobs_);
    for (const std::size_t i : options.order) mine_.push_back(&cells[i]);
    if (!options.order.empty()) return;
    for (std::size_t i = options.shard; i < cells.size(); i += options.shards) mine_.push_back(&cells[i]);
  }

  SweepSummary all() {
    std::vector<const Cell*> left;
    for (const Cell* cell : mine_) {
      if (state_of(*cell).kind == CellState::Kind::finished)
        count_finished(*cell);
      else
        left.push_back(cell);
    }
    if (observer_.started) observer_.started(mine_.size(), finished_count_);
    work_on(left);
    // Other processes may still hold these cells, or have left them unfinished.
    work_on(std::exchange(held_, {}));
    std::ranges::sort(failed_, {}, [](const auto& failure) { return failure.first; });
    SweepSummary summary{.folder = work_.sweep, .cells = mine_.size(), .finished = finished_count_, .interrupted = stopped()};
    for (const auto& [cell, error] : failed_) summary.failed.emplace_back(*cell, error);
    for (const Cell* cell : mine_)
      if (finished_.contains(cell->key)) summary.finished_cells.push_back(*cell);
    summary.held_elsewhere = held_.size();
    return summary;
  }

 private:
  CellState state_of(const Cell& cell) const { return cell_state(work_.sweep, work_.experiment, cell, inputs_); }
  bool stopped() const { return work_.stop != nullptr && work_.stop->load(); }

  void count_finished(const Cell& cell) {
    finished_.insert(cell.key);
    ++finished_count_;
  }

  void work_on(const std::vector<const Cell*>& cells) {
    next_ = 0;
    const auto work = [&](int job) {
      while (!stopped()) {
        const std::size_t index = next_.fetch_add(1);
        if (index >= cells.size()) return;
        attempt(*cells[index], job);
      }
    };
    if (jobs_ == 1) return work(0);  // on this thread, as a fleet may need
    std::vector<std::jthread> threads;
    for (int job = 0; job < std::min<int>(jobs_, static_cast<int>(cells.size())); ++job)
      threads.emplace_back([&, job] { work(job); });
  }

  void attempt(const Cell& cell, int job) {
    if (is_held_elsewhere(work_.sweep / "cells" / cell.key)) return settle(cell, job, {CellOutcome::Kind::held_elsewhere}, false);
    if (observer_.cell_started) {
      const std::lock_guard lock(mutex_);
      observer_.cell_started(cell, job);
    }
    const CellState state = state_of(cell);
    if (state.kind == CellState::Kind::finished) return settle(cell, job, {}, true);  // by another process meanwhile
    const auto round = [&](const RoundRecord& record, std::uint32_t rounds) {
      if (!observer_.round) return;
      const std::lock_guard lock(mutex_);
      observer_.round(cell, job, record.round, rounds, record.test ? record.test->accuracy : -1);
    };
    CellOutcome outcome =
        state.kind == CellState::Kind::damaged ? refuse_damaged(cell, state, work_) : carry_out(cell, state.kind, work_, round);
    if (outcome.kind == CellOutcome::Kind::failed && state_of(cell).kind == CellState::Kind::finished) {
      std::error_code ignored;  // another process was quicker, which is no failure
      std::filesystem::remove(work_.sweep / "cells" / cell.key / "error.txt", ignored);
      outcome = {};
    }
    settle(cell, job, outcome, true);
  }

  void settle(const Cell& cell, int job, const CellOutcome& outcome, bool started) {
    const std::lock_guard lock(mutex_);
    if (outcome.kind == CellOutcome::Kind::finished) count_finished(cell);
    if (outcome.kind == CellOutcome::Kind::failed) failed_.emplace_back(&cell, outcome.error);
    if (outcome.kind == CellOutcome::Kind::held_elsewhere) held_.push_back(&cell);
    if (!started || !observer_.cell_ended || outcome.kind == CellOutcome::Kind::interrupted) return;
    observer_.cell_ended(cell, job,
                         outcome.kind == CellOutcome::Kind::held_elsewhere ? "another process is running it" : outcome.error);
  }

  CellWork work_;
  const SweepObserver& observer_;
  const InputHashes& inputs_;
  int jobs_;
  std::vector<const Cell*> mine_ = {};
  std::vector<const Cell*> held_ = {};
  std::vector<std::pair<const Cell*, std::string>> failed_ = {};
  std::set<std::string> finished_ = {};
  std::size_t finished_count_ = 0;  ///< two cells may share a key
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
};

// A finished cell whose results cannot be read, as the tables have found, has failed after all.
void take_unreadable(const SweepResults& results, SweepSummary& summary) {
  std::map<std::string_view, std::string_view> errors;
  for (const CellResult& result : results.cells)
    if (result.status == "failed") errors.emplace(result.cell.key, result.error);
  for (const Cell& cell : summary.finished_cells)
    if (const auto found = errors.find(cell.key); found != errors.end()) {
      summary.failed.emplace_back(cell, found->second);
      --summary.finished;
    }
}

std::size_t other_cells(const std::filesystem::path& folder, const std::vector<Cell>& cells) {
  std::set<std::string> keys;
  for (const Cell& cell : cells) keys.insert(cell.key);
  std::size_t others = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder / "cells", error), end; !error && at != end; at.increment(error))
    if (!keys.contains(at->path().filename().string())) ++others;
  return others;
}

}  // namespace

SweepSummary sweep_cells(const Experiment& experiment, const std::vector<Cell>& cells, const SweepOptions& options,
                         const SweepObserver& observer) {
  const std::filesystem::path folder = sweep_path(experiment, options.out);
  check_sweep_folder(folder, experiment);
  write_sweep_folder(folder, experiment, options.inputs);
  return Sweep(experiment, cells, options, observer, options.inputs, folder).all();
}

void write_sweep_tables(const std::vector<Cell>& cells, SweepSummary& summary) {
  summary.others = other_cells(summary.folder, cells);
  try {
    const FolderLock lock(summary.folder, FolderLock::Wait::yes);  // tables are written by one process at a time
    const SweepResults results = read_results(summary.folder);
    take_unreadable(results, summary);
    write_tables(results);
    summary.expectations = results.expectations;
  } catch (const Error& error) {
    summary.tables_error = error.what();
  }
}

SweepSummary sweep(const Experiment& experiment, const std::vector<Cell>& cells, const SweepOptions& options,
                   const SweepObserver& observer) {
  SweepSummary summary = sweep_cells(experiment, cells, options, observer);
  write_sweep_tables(cells, summary);
  return summary;
}

}  // namespace fedstride
