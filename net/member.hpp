#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "net/connection.hpp"
#include "net/log.hpp"
#include "net/messages.hpp"
#include "net/packing.hpp"

namespace fedstride {

/// The rules by which a client reaches its coordinator.
struct MemberRules {
  ClientId client = 0;
  Endpoint connect;
  Transport transport;
  bool authenticated = true;  ///< the other side must be "coordinator" by its certificate
  bool accept_other_builds = false;
  double patience = 600;  ///< seconds without the coordinator after which the client gives up; 0: never
};

/// A client's work. All functions are called on the thread that called take_part; they may throw Error, then the client
/// leaves the federation, and take_part rethrows it.
struct MemberWork {
  /// Prepares data for the experiment; called again only if the experiment changes. Sets the packings of its model.
  std::function<Ready(const Welcome& welcome, Packings& packings)> prepare;
  /// The last round answered, for Ready.
  std::function<std::uint32_t()> last_round;
  /// Trains; model and change are unpacked. Throws Interrupted (client/trainer.hpp) when `stop` becomes true; adds to `examples`
  /// as it goes.
  std::function<UpdateMessage(const ModelMessage& model, const Train& train, std::atomic<std::uint64_t>& examples,
                              const std::atomic<bool>& stop)>
      train;
  /// Tests a model, if the client offers that (Ready::evaluates). May be empty.
  std::function<EvaluationMessage(const ModelMessage& model, std::uint32_t round)> evaluate = {};
};

/// The outcome of taking part.
struct MemberOutcome {
  bool finished = false;     ///< the coordinator said so; false: interrupted
  std::uint32_t rounds = 0;  ///< of the federation
  std::string model_hash = {};
  std::uint32_t answered = 0;  ///< updates sent in this session, each round once
};

/// Takes part in a federation until it is finished, `stop` becomes true, or it cannot continue. A broken connection is
/// made again after a pause that grows from 0.2 to 10 s, with jitter; the current round continues meanwhile, and an update
/// that was not acknowledged is sent again. Throws Error (failure) if the coordinator refuses for good (with its words), if
/// this side does, or if the coordinator is not reached within the patience.
MemberOutcome take_part(const MemberRules& rules, const MemberWork& work, const NetworkLog& log, const std::atomic<bool>* stop);

}  // namespace fedstride
