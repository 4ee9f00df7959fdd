#pragma once

#include "server/checkpoint.hpp"
#include "sim/fleet/threads.hpp"
#include "sim/run/fleets.hpp"
#include "sim/run/results.hpp"
#include "sim/run/run_privacy.hpp"
#include "sim/run/virtual_time.hpp"
#include "sim/run/wired_fleet.hpp"

namespace fedstride {

/// Carries out the rounds of a training run, one after another, with any fleet, and holds everything that they change. Between
/// calls of next(), run() evaluates and saves, and measure_privacy() counts the sums that scored its canaries.
struct Drive {
  /// Continues from this state (round 0: the initial weights). Setup, privacy and folder must outlive the object.
  Drive(const Setup& setup, RunPrivacy& privacy, Server fresh, const FleetMaker& maker, const std::filesystem::path& folder,
        const std::atomic<bool>* stop, Checkpoint from);

  /// Carries out the next round or version: reserves its privacy, trains, records its releases and sums its clients' reports.
  /// Leaves evaluations and spending in `record` empty. Returns why a budget ends the training before the round; empty if the
  /// round is done. Throws Interrupted if stopped, and FailedRound like run_round; the model is then that of the round before.
  std::string next(RoundRecord& record);

  const Setup& setup;
  RunPrivacy& privacy;
  Checkpoint state;  ///< after the last round; next() leaves the parts' states and the ledger's mark to its caller
  Threads threads;
  const std::shared_ptr<WiredFleet> fleet;
  Server server;
  std::optional<VirtualTime> time = {};
  std::string hash;  ///< the model's hash
};

}  // namespace fedstride
