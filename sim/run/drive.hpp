#pragma once

#include "server/checkpoint.hpp"
#include "sim/fleet/threads.hpp"
#include "sim/run/fleets.hpp"
#include "sim/run/results.hpp"
#include "sim/run/run_privacy.hpp"
#include "sim/run/virtual_time.hpp"
#include "sim/run/wired_fleet.hpp"

namespace fedstride {

/// The consecutive rounds of a training and everything that they change. It is the same for every fleet; a run evaluates and
/// saves between rounds, a measurement scores its canaries.
struct Drive {
  /// Continues from this state (round 0: the initial weights). Setup, privacy and folder must outlive it.
  Drive(const Setup& setup, RunPrivacy& privacy, Server fresh, const FleetMaker& maker, const std::filesystem::path& folder,
        const std::atomic<bool>* stop, Checkpoint from);

  /// Makes the next round or version: reserves its privacy, trains, records its releases and sums its clients' reports.
  /// `record` lacks evaluations and spending. Returns why a budget ends the training before the round; empty if the round is
  /// done. Throws Interrupted if stopped, FailedRound like run_round: the model is still that of the last round.
  std::string next(RoundRecord& record);

  const Setup& setup;
  RunPrivacy& privacy;
  Checkpoint state;  ///< after the last round, except that parts' states and the ledger's mark are the given ones
  Threads threads;
  const std::shared_ptr<WiredFleet> fleet;
  Server server;
  std::optional<VirtualTime> time = {};
  std::string hash;  ///< of the model
};

}  // namespace fedstride
