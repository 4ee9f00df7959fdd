#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "sweep/cells/sweep.hpp"

namespace fedstride {

/// Tells a person how a sweep is going: a line for each cell that ends, and on a terminal below them a bar for the
/// sweep with the time left, and a line for each running cell.
class SweepProgress {
 public:
  explicit SweepProgress(bool quiet);
  ~SweepProgress();
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;

  SweepObserver observer(const std::atomic<bool>* stop);
  /// Takes the bar away; what is printed next stands alone.
  void end();

 private:
  struct Running {
    std::string point;
    std::uint32_t first = 0;  ///< rounds done before this session
    std::uint32_t round = 0;
    std::uint32_t rounds = 0;
    double accuracy = -1;
    std::chrono::steady_clock::time_point start = {};
    double share() const { return rounds > 0 ? static_cast<double>(round) / rounds : 0; }
    double share_here() const { return rounds > 0 ? static_cast<double>(round - first) / rounds : 0; }
  };

  void draw();
  void clear();
  std::string time_left() const;

  bool quiet_;
  bool terminal_;
  std::size_t cells_ = 0;
  std::size_t done_before_ = 0;
  std::size_t ended_ = 0;                ///< in this session
  double work_done_ = 0;                 ///< cells' worth of rounds that ended cells took here
  std::size_t lines_ = 0;                ///< drawn, to be taken away
  std::map<int, Running> running_ = {};  ///< by job
  std::chrono::steady_clock::time_point start_ = {};
  std::mutex mutex_;
  std::jthread drawer_;
};

}  // namespace fedstride
