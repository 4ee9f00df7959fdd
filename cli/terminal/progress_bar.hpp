#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cli/terminal/live_lines.hpp"
#include "sim/net/network_log.hpp"
#include "sim/run/run.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride {

/// Shows the progress of a run: one line for each round on standard output and, on a terminal, a bar below them that also
/// advances within a round.
class ProgressBar {
 public:
  using Wording = std::string (*)(std::string_view text);
  /// `silent`: prints nothing, regardless of the run's settings. `wording` rewrites text that names flags; null: unchanged.
  explicit ProgressBar(bool silent = false, Wording wording = nullptr) : silent_(silent), wording_(wording) {}
  /// What would be printed during the run goes to this log instead: the lines of the first and the last round, in between at most
  /// one every few seconds, and all warnings. So does the end of the run, if nothing else is printed.
  void log_to(NetworkLog log) { log_ = std::move(log); }
  RunObserver observer(const std::atomic<bool>* stop);
  /// Ends `run`, `serve` and `launch`. Prints rounds, accuracy, omitted updates, results folder and privacy, unless the run is
  /// quiet; with `json`, prints summary.json with the folder's name instead. If the run was interrupted, prints
  /// `resume_command` and, unless the pause was asked for (RunObserver::pause), throws the exit code.
  void end(const RunSummary& summary, bool json, const std::string& resume_command);

 private:
  void started(const Setup& setup, const std::string& folder, std::uint32_t rounds_done,
               const std::atomic<std::uint64_t>& examples);
  void round(const RoundRecord& record);
  void print(std::uint32_t round, std::string line, const std::vector<std::string>& warnings);
  std::vector<std::string> lines(std::size_t columns);
  std::string time_left() const;
  std::string worded(const std::string& text) const { return wording_ == nullptr ? text : wording_(text); }

  bool silent_;
  Wording wording_;
  NetworkLog log_ = {};
  std::chrono::steady_clock::time_point logged_ = {};  ///< when a round was last logged
  bool quiet_ = true;
  Configuration configuration_ = {};
  std::string idle_advice_ = {};        ///< printed after the first round that trains nothing
  std::set<std::string> reasons_ = {};  ///< reasons for leaving clients out that have been printed
  std::uint32_t rounds_ = 0;
  std::uint32_t done_ = 0;
  std::uint32_t first_ = 0;
  double accuracy_ = std::numeric_limits<double>::quiet_NaN();  ///< NaN: unknown
  std::string metric_ = "accuracy";                             ///< what accuracy_ measures
  std::uint64_t examples_a_round_ = 0;                          ///< per round: mean over the rounds so far; an estimate at first
  std::uint64_t examples_before_ = 0;                           ///< in this session's finished rounds
  const std::atomic<std::uint64_t>* examples_ = nullptr;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  LiveLines live_;
};

}  // namespace fedstride
