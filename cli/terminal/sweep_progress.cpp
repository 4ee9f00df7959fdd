#include "cli/terminal/sweep_progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/terminal/clock_text.hpp"
#include "core/seconds_since.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

std::string accuracy_text(double accuracy) {
  if (!(accuracy >= 0)) return "";
  char text[48];
  std::snprintf(text, sizeof text, ", test accuracy %.4f", accuracy);
  return text;
}

std::string bar(double share) {
  constexpr int width = 30;
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * width);
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

// As much of a line as the terminal shows without breaking it: broken ones could not be taken away again.
std::string cut(const std::string& line) {
  winsize size{};
  const std::size_t columns = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79u;
  return line.substr(0, columns);
}

}  // namespace

SweepProgress::SweepProgress(bool quiet) : quiet_(quiet), terminal_(isatty(STDOUT_FILENO) != 0) {}

SweepProgress::~SweepProgress() { end(); }

void SweepProgress::end() {
  if (!drawer_.joinable()) return;
  drawer_.request_stop();
  drawer_.join();
  const std::lock_guard lock(mutex_);
  clear();
}

SweepObserver SweepProgress::observer(const std::atomic<bool>* stop) {
  SweepObserver observer;
  observer.stop = stop;
  if (quiet_) return observer;
  observer.started = [this](std::size_t cells, std::size_t done_before) {
    const std::lock_guard lock(mutex_);
    cells_ = cells;
    done_before_ = done_before;
    start_ = std::chrono::steady_clock::now();
    std::printf("%s, %zu finished before\n", counted(cells, "cell").c_str(), done_before);
    std::fflush(stdout);
    if (terminal_ && done_before < cells)
      drawer_ = std::jthread([this](const std::stop_token& token) {
        while (!token.stop_requested()) {
          {
            const std::lock_guard drawing(mutex_);
            draw();
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(200));
        }
      });
  };
  observer.cell_started = [this](const Cell& cell, int job) {
    const std::lock_guard lock(mutex_);
    running_[job] = {.point = point_text(cell), .start = std::chrono::steady_clock::now()};
  };
  observer.round = [this](const Cell&, int job, std::uint32_t round, std::uint32_t rounds, double accuracy) {
    const std::lock_guard lock(mutex_);
    Running& cell = running_[job];
    const bool is_first = cell.rounds == 0;
    if (is_first) cell.first = round - 1;
    cell.round = round;
    cell.rounds = rounds;
    if (accuracy >= 0) cell.accuracy = accuracy;
    if (is_first && terminal_) draw();
  };
  observer.cell_ended = [this](const Cell& cell, int job, const std::string& error) {
    const std::lock_guard lock(mutex_);
    const Running ended = running_[job];
    running_.erase(job);
    ++ended_;
    work_done_ += ended.rounds > 0 ? ended.share_here() : 1;
    clear();
    if (error.empty())
      std::printf("[%zu/%zu] %s%s, %s\n", done_before_ + ended_, cells_, point_text(cell).c_str(),
                  accuracy_text(ended.accuracy).c_str(), clock_text(seconds_since(ended.start)).c_str());
    else
      std::printf("[%zu/%zu] %s: not finished: %s\n", done_before_ + ended_, cells_, point_text(cell).c_str(), error.c_str());
    std::fflush(stdout);
  };
  return observer;
}

// At the speed so far, in cells' worth of rounds.
std::string SweepProgress::time_left() const {
  double done = work_done_;
  double left = static_cast<double>(cells_ - done_before_ - std::min(ended_, cells_ - done_before_));
  for (const auto& [job, cell] : running_) {
    done += cell.share_here();
    left -= cell.share();
  }
  return done > 0 ? clock_text(seconds_since(start_) * std::max(0.0, left) / done) : "?";
}

void SweepProgress::draw() {
  clear();
  double share = static_cast<double>(done_before_ + ended_);
  for (const auto& [job, cell] : running_) share += cell.share();
  share /= static_cast<double>(std::max<std::size_t>(cells_, 1));
  std::printf("%s\n", cut(bar(share) + " " + std::to_string(done_before_ + ended_) + "/" + counted(cells_, "cell") + ", " +
                          time_left() + " left")
                          .c_str());
  for (const auto& [job, cell] : running_) {
    const std::string rounds =
        cell.rounds > 0 ? "round " + std::to_string(cell.round) + "/" + std::to_string(cell.rounds) : "starting";
    std::printf("%s\n", cut("  " + rounds + accuracy_text(cell.accuracy) + ", " + clock_text(seconds_since(cell.start)) + ": " +
                            cell.point)
                            .c_str());
  }
  lines_ = 1 + running_.size();
  std::fflush(stdout);
}

void SweepProgress::clear() {
  for (; lines_ > 0; --lines_) std::printf("\033[A\r\033[K");
}

}  // namespace fedstride
