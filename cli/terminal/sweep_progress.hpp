#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cli/terminal/columns.hpp"
#include "cli/terminal/live_lines.hpp"
#include "core/seconds_since.hpp"
#include "core/text.hpp"
#include "sim/run/results.hpp"
#include "sweep/cells/sweep.hpp"

// Included only by sweep_command.cpp and tune_command.cpp.

namespace fedstride {

/// Shows the progress of a sweep: one line for each cell that ends and, below these lines on a terminal, a bar with the time left
/// and a line for each running cell.
class SweepProgress {
 public:
  explicit SweepProgress(bool quiet) : quiet_(quiet) {}

  SweepObserver observer(const std::atomic<bool>* stop) {
    SweepObserver observer;
    observer.stop = stop;
    if (quiet_) return observer;
    observer.started = [this](std::size_t cells, std::size_t done_before) {
      const std::lock_guard lock(mutex_);
      cells_ = cells;
      done_before_ = done_before;
      start_ = std::chrono::steady_clock::now();
      live_.print(counted(cells, "cell") + ", " + std::to_string(done_before) + " finished before\n");
      if (done_before < cells) live_.begin([this](std::size_t columns) { return lines(columns); });
    };
    observer.cell_started = [this](const Cell& cell, int job) {
      const std::lock_guard lock(mutex_);
      running_[job] = {.point = point_text(cell), .start = std::chrono::steady_clock::now()};
    };
    observer.round = [this](const Cell&, int job, std::uint32_t round, std::uint32_t rounds, const RoundRecord& record) {
      const std::lock_guard lock(mutex_);
      Running& cell = running_[job];
      if (cell.rounds == 0) cell.first = round - 1;
      cell.round = round;
      cell.rounds = rounds;
      if (record.test) cell.test = test_text(record);
    };
    observer.cell_ended = [this](const Cell& cell, int job, const std::string& error) {
      const std::lock_guard lock(mutex_);
      const Running ended = running_[job];
      running_.erase(job);
      ++ended_;
      work_done_ += ended.rounds > 0 ? ended.share_here() : 1;
      live_.print("[" + std::to_string(done_before_ + ended_) + "/" + std::to_string(cells_) + "] " + point_text(cell) +
                  (error.empty() ? ended.test + ", " + clock_text(seconds_since(ended.start)) : ": not finished: " + error) +
                  "\n");
    };
    return observer;
  }

  /// Removes the bar and the lines of running cells.
  void end() { live_.end(); }

 private:
  struct Running {
    std::string point;
    std::uint32_t first = 0;  ///< rounds done before this session
    std::uint32_t round = 0;
    std::uint32_t rounds = 0;
    std::string test = {};  ///< ", test accuracy 0.5"; empty: not evaluated
    std::chrono::steady_clock::time_point start = {};
    double share() const { return rounds > 0 ? static_cast<double>(round) / rounds : 0; }
    double share_here() const { return rounds > 0 ? static_cast<double>(round - first) / rounds : 0; }
  };

  static std::string test_text(const RoundRecord& record) {
    char text[48];
    std::snprintf(text, sizeof text, " %.4f", record.test->accuracy);
    return ", test " + std::string(record.metric) + text;
  }

  std::vector<std::string> lines(std::size_t columns) {
    const std::lock_guard lock(mutex_);
    double share = static_cast<double>(done_before_ + ended_);
    for (const auto& [job, cell] : running_) share += cell.share();
    share /= static_cast<double>(std::max<std::size_t>(cells_, 1));
    const Piece pieces[] = {{std::to_string(done_before_ + ended_) + "/" + counted(cells_, "cell")}, {time_left() + " left", 1}};
    std::vector<std::string> all{bar_line(share, pieces, columns)};
    for (const auto& [job, cell] : running_) {
      const std::string rounds =
          cell.rounds > 0 ? "round " + std::to_string(cell.round) + "/" + std::to_string(cell.rounds) : "starting";
      all.push_back(
          shortened("  " + rounds + cell.test + ", " + clock_text(seconds_since(cell.start)) + ": " + cell.point, columns));
    }
    return all;
  }

  // Estimates the time left from the speed so far, in cells.
  std::string time_left() const {
    double done = work_done_;
    double left = static_cast<double>(cells_ - done_before_ - std::min(ended_, cells_ - done_before_));
    for (const auto& [job, cell] : running_) {
      done += cell.share_here();
      left -= cell.share();
    }
    return done > 0 ? clock_text(seconds_since(start_) * std::max(0.0, left) / done) : "?";
  }

  bool quiet_;
  std::size_t cells_ = 0;
  std::size_t done_before_ = 0;
  std::size_t ended_ = 0;                ///< in this session
  double work_done_ = 0;                 ///< cells, or shares of cells, finished in this session
  std::map<int, Running> running_ = {};  ///< by job
  std::chrono::steady_clock::time_point start_ = {};
  std::mutex mutex_;
  LiveLines live_;
};

}  // namespace fedstride
