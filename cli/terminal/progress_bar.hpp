#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "run/run.hpp"

namespace fedstride {

/// Tells a person how a run is going: a line a round on standard output, and on a terminal a bar below it that moves
/// within the round.
class ProgressBar {
 public:
  /// `silent`: nothing is printed, whatever the run's settings say.
  explicit ProgressBar(bool silent = false);
  ~ProgressBar();

  RunObserver observer(const std::atomic<bool>* stop);
  /// The run's own setting, once it has started.
  bool quiet() const { return quiet_; }
  const Configuration& configuration() const { return configuration_; }

 private:
  void started(const Setup& setup, const std::string& folder, std::uint32_t rounds_done,
               const std::atomic<std::uint64_t>& examples);
  void round(const RoundRecord& record);
  void draw();
  void clear();
  std::string time_left() const;

  bool silent_;
  bool quiet_ = true;
  bool terminal_;
  Configuration configuration_ = {};
  std::string idle_advice_ = {};  ///< on the first round that trains nothing
  std::uint32_t rounds_ = 0;
  std::uint32_t done_ = 0;
  std::uint32_t first_ = 0;
  double accuracy_ = -1;                ///< below 0: not known yet
  std::string metric_ = "accuracy";     ///< its name
  std::uint64_t examples_a_round_ = 0;  ///< of the rounds so far; an estimate at first
  std::uint64_t examples_before_ = 0;   ///< of this session's finished rounds
  const std::atomic<std::uint64_t>* examples_ = nullptr;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::jthread drawer_;
};

}  // namespace fedstride
