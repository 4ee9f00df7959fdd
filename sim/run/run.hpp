#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/setting.hpp"
#include "sim/run/results.hpp"

namespace fedstride {

struct Configuration;
struct FleetMaker;
class Server;
struct Setup;

/// Callbacks of a run. Any may be empty.
struct RunObserver {
  std::function<void(const Setup&, const std::string& folder, std::uint32_t rounds_done,
                     const std::atomic<std::uint64_t>& examples)>
      started;
  std::function<void(const RoundRecord&)> round;
  std::function<void()> ended;              ///< after `started`, however the session ends; `examples` is valid until it returns
  const std::atomic<bool>* stop = nullptr;  ///< if true, the current round is abandoned and the run ends as interrupted
  /// After this round the run ends as interrupted, with a checkpoint; schedules still span all rounds. 0: no pause.
  std::uint32_t pause_after = 0;
  const std::atomic<bool>* pause = nullptr;  ///< if true, the same after the current round
};

/// Carries out a new run in a new folder (configuration.out, or a free name under runs/). The configuration was resolved from
/// `settings`. Throws Error: usage if the folder is not empty, failure for errors during the run; FailedRound if more clients
/// failed than accept-failures allows. Finished rounds stay on disk.
RunSummary run(const Configuration& configuration, const Settings& settings, const RunObserver& observer,
               const FleetMaker& make_fleet);
/// The same, with clients in this process.
RunSummary run(const Configuration& configuration, const Settings& settings, const RunObserver& observer = {});
/// The same, for the configuration given by these settings. Also throws Error (usage) like resolve().
RunSummary run(const Settings& settings, const RunObserver& observer = {});

/// Continues the run in the folder `name` from its checkpoint. `overrides` may set rounds (not below the number done) and
/// anything that may_change() allows, such as threads, evaluate-every and quiet; anything else is refused. The final model is
/// bit for bit the same as without the interruption. `configure` adds to the configuration what a file cannot hold: the calling
/// program's own data and parts.
RunSummary resume(const std::string& name, const Settings& overrides, const RunObserver& observer, const FleetMaker& make_fleet,
                  const std::function<void(Configuration&)>& configure = {});
RunSummary resume(const std::string& name, const Settings& overrides, const RunObserver& observer = {});

/// The server in its state before a run's first round.
Server make_server(const Setup& setup);

}  // namespace fedstride
