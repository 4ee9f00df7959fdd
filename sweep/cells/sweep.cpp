#include "sweep/cells/sweep.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <mutex>
#include <new>
#include <set>
#include <thread>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/floating_point.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/shared_datasets.hpp"
#include "sim/fleet/threads.hpp"
#include "sim/run/run_folder.hpp"
#include "sweep/cells/cell_keys.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/cells/subcommand.hpp"
#include "sweep/cells/sweep_folder.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

// The outcome of an attempt to run a cell.
struct CellOutcome {
  enum class Kind { finished, interrupted, held_elsewhere, failed };
  Kind kind = Kind::finished;
  std::string error = {};  ///< one line, for `failed`
};

// The data shared by all cells of a sweep.
struct CellWork {
  const Experiment& experiment;
  std::filesystem::path sweep;  ///< the sweep's folder
  std::string program;          ///< for commands other than run
  int threads = 1;              ///< per cell
  const std::atomic<bool>* stop = nullptr;
  FleetMaker fleet = {in_process_fleet};
  RunOwn run_own = {};
  std::uint32_t pause_after = 0;  ///< SweepOptions::pause_after
};

Setting of_command_line(const std::string& text) { return {.value = text, .from_command_line = true}; }

// Returns the exception's message as one line.
std::string message_of(const std::exception_ptr& exception) {
  std::string line = "unknown error";
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    line = "out of memory";
  } catch (const std::exception& error) {
    line = error.what();
  } catch (...) {
  }
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  return line;
}

CellOutcome failed(const fs::path& folder, const std::string& error) {
  try {
    fs::create_directories(folder);
    write_file(folder / "error.txt", error + "\n");
  } catch (const std::exception&) {  // the error is still reported on the terminal
  }
  return {CellOutcome::Kind::failed, error};
}

// The settings with which a cell's run begins or, if it is not fresh, goes on.
Settings settings_of(const Cell& cell, bool fresh, const fs::path& folder, const CellWork& work) {
  Settings settings{{"threads", of_command_line(std::to_string(work.threads))}};
  if (!fresh) {
    for (const char* place : {"data", "data-dir"})
      if (const auto data = cell.settings.find(place); data != cell.settings.end()) settings[place] = data->second;
    return settings;
  }
  settings.insert(cell.settings.begin(), cell.settings.end());
  settings["out"] = of_command_line(folder.string());
  settings.erase("quiet");
  settings.try_emplace("accept-failures", Setting{std::string("all")});  // a cell that diverges is a result
  return settings;
}

RunSummary run_or_resume(const Cell& cell, bool fresh, const fs::path& folder, const CellWork& work,
                         const RunObserver& observer) {
  const Settings settings = settings_of(cell, fresh, folder, work);
  return fresh ? run(resolve(settings), settings, observer, work.fleet) : resume(folder.string(), settings, observer, work.fleet);
}

CellOutcome carry_out_run(const Cell& cell, bool fresh, const fs::path& folder, const CellWork& work,
                          const std::function<void(const RoundRecord&, std::uint32_t)>& round) {
  std::error_code ignored;
  if (fresh) fs::remove(folder / "error.txt", ignored);
  if (work.run_own && !setting_text(cell.settings, "code").empty()) {
    if (work.pause_after > 0) throw usage_error("a run with your own code cannot pause; use a sweep");
    const bool is_done = work.run_own(settings_of(cell, fresh, folder, work), folder.string());
    return {is_done ? CellOutcome::Kind::finished : CellOutcome::Kind::interrupted};
  }
  std::uint32_t rounds = 0;
  RunObserver observer;
  observer.stop = work.stop;
  observer.pause_after = work.pause_after;
  observer.started = [&](const Setup& setup, const std::string&, std::uint32_t, const std::atomic<std::uint64_t>&) {
    rounds = static_cast<std::uint32_t>(setup.configuration.rounds);
    if (work.pause_after > 0) rounds = std::min(rounds, work.pause_after);
  };
  observer.round = [&](const RoundRecord& record) { round(record, rounds); };
  const RunSummary summary = run_or_resume(cell, fresh, folder, work, observer);
  const bool is_paused = work.pause_after > 0 && summary.rounds >= work.pause_after;
  return {summary.interrupted && !is_paused ? CellOutcome::Kind::interrupted : CellOutcome::Kind::finished};
}

CellOutcome carry_out_command(const Cell& cell, const fs::path& folder, const CellWork& work) {
  fs::create_directories(folder);
  const FolderLock lock(folder, FolderLock::Wait::no);
  if (!lock.held()) return {CellOutcome::Kind::held_elsewhere};
  std::vector<std::string> words = command_words(work.experiment, cell);
  words.insert(words.begin(), work.program);
  const ProgramOutput output = run_program(words, work.stop);
  if (output.stopped) return {CellOutcome::Kind::interrupted};
  if (output.code != 0) {
    const std::string_view line = trimmed(std::string_view(output.err).substr(0, output.err.find('\n')));
    constexpr std::string_view name = "fedstride: ";
    throw failure(line.empty() ? "exit code " + std::to_string(output.code)
                               : std::string(line.substr(line.starts_with(name) ? name.size() : 0)));
  }
  if (!parse_json(output.out).is_structured()) throw failure("'fedstride " + work.experiment.command + "' did not print JSON");
  write_file(folder / "result.json", output.out);
  return {CellOutcome::Kind::finished};
}

// Starts or continues a cell on this thread. Never throws. Also writes a failure to the cell's error.txt, which is removed when
// the cell finishes.
CellOutcome carry_out(const Cell& cell, CellState::Kind state, const CellWork& work,
                      const std::function<void(const RoundRecord&, std::uint32_t)>& round) {
  const FloatingPointMode mode;
  const fs::path folder = work.sweep / "cells" / cell.key;
  const bool fresh = state == CellState::Kind::fresh;
  CellOutcome outcome;
  try {
    outcome = work.experiment.command == "run" ? carry_out_run(cell, fresh, folder, work, round)
                                               : carry_out_command(cell, folder, work);
  } catch (const FolderInUse&) {
    return {CellOutcome::Kind::held_elsewhere};
  } catch (...) {
    const std::string error = message_of(std::current_exception());
    return failed(folder, fresh ? error : error + "; to start the cell again, remove the folder '" + folder.string() + "'");
  }
  std::error_code ignored;
  if (outcome.kind == CellOutcome::Kind::finished) fs::remove(folder / "error.txt", ignored);
  return outcome;
}

CellOutcome refuse_damaged(const Cell& cell, const CellState& state, const CellWork& work) {
  const fs::path folder = work.sweep / "cells" / cell.key;
  return failed(folder, "the folder '" + folder.string() + "' is damaged: " + state.why + "; remove it to run the cell again");
}

class Sweep {
 public:
  Sweep(const Experiment& experiment, const std::vector<Cell>& cells, const SweepOptions& options, const SweepObserver& observer,
        const InputHashes& inputs, const std::filesystem::path& folder)
      : work_{.experiment = experiment,
              .sweep = folder,
              .program = options.program,
              .stop = observer.stop,
              .fleet = options.fleet,
              .run_own = options.run_own,
              .pause_after = options.pause_after},
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
    // Retries cells that other processes held, since they may have left them unfinished.
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
  CellState state_of(const Cell& cell) const {
    CellState state = cell_state(work_.sweep, work_.experiment, cell, inputs_);
    const bool is_paused =
        work_.pause_after > 0 && state.kind == CellState::Kind::unfinished && state.rounds >= work_.pause_after;
    if (is_paused) state.kind = CellState::Kind::finished;
    return state;
  }
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
    if (jobs_ == 1) return work(0);  // a fleet may need this thread
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
    if (state.kind == CellState::Kind::finished) return settle(cell, job, {}, true);  // another process finished it
    const auto round = [&](const RoundRecord& record, std::uint32_t rounds) {
      if (!observer_.round) return;
      const std::lock_guard lock(mutex_);
      observer_.round(cell, job, record.round, rounds, record);
    };
    CellOutcome outcome =
        state.kind == CellState::Kind::damaged ? refuse_damaged(cell, state, work_) : carry_out(cell, state.kind, work_, round);
    if (outcome.kind == CellOutcome::Kind::failed && state_of(cell).kind == CellState::Kind::finished) {
      std::error_code ignored;  // not a failure: another process has already finished the cell
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

  SharedDatasets datasets_;  // cells share loaded data
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

SweepSummary sweep(const Experiment& experiment, const std::vector<Cell>& cells, const SweepOptions& options,
                   const SweepObserver& observer) {
  const std::filesystem::path folder = sweep_path(experiment, options.out);
  check_sweep_folder(folder, experiment);
  write_sweep_folder(folder, experiment, options.inputs);
  SweepSummary summary = Sweep(experiment, cells, options, observer, options.inputs, folder).all();
  summary.others = other_cells(summary.folder, cells);
  return summary;
}

}  // namespace fedstride
