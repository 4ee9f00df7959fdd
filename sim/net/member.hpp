#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "sim/net/connection.hpp"
#include "sim/net/messages.hpp"
#include "sim/net/packing.hpp"

namespace fedstride {

/// The state of a client's network side, written by its thread.
struct MemberState {
  using Clock = std::chrono::steady_clock;
  std::atomic<bool> joined{false};                      ///< the coordinator can ask it to train
  std::atomic<Clock::time_point> ran{Clock::now()};     ///< when the thread last ran
  std::atomic<Clock::time_point> served{Clock::now()};  ///< when a coordinator last asked for something
};

/// How a client reaches its coordinator.
struct MemberRules {
  ClientId client = 0;
  Endpoint connect;
  Transport transport;
  bool authenticated = true;  ///< whether the peer must have a certificate for "coordinator"
  bool accept_other_builds = false;
  double patience = 600;         ///< seconds without a coordinator after which the client gives up; 0: never
  MemberState* state = nullptr;  ///< kept up to date
};

/// A client's work. All functions are called on the thread that called take_part. If one throws Error, the client leaves the
/// federation and take_part rethrows it.
struct MemberWork {
  /// Prepares the data for the experiment and sets the packings of its model; called again only if the experiment changes.
  std::function<Ready(const Welcome& welcome, Packings& packings)> prepare;
  /// Returns the last round answered, for Ready.
  std::function<std::uint32_t()> last_round;
  /// Trains a model. The model passed and the change returned are unpacked. Throws Interrupted (client/trainer.hpp) when `stop`
  /// becomes true; updates `examples` during training.
  std::function<UpdateMessage(const ModelMessage& model, const Train& train, std::atomic<std::uint64_t>& examples,
                              const std::atomic<bool>& stop)>
      train;
  /// Returns the answer to a message of secure aggregation (a frame and its kind), or a null frame if the attempt is over. May be
  /// empty.
  std::function<std::pair<Frame, FrameKind>(const SecureMessage& asked)> secure = {};
  /// Evaluates a model. Empty if the client does not offer evaluation (Ready::evaluates).
  std::function<EvaluationMessage(const ModelMessage& model, std::uint32_t round)> evaluate = {};
};

/// The outcome of take_part.
struct MemberOutcome {
  bool finished = false;     ///< true if the coordinator reported the end; false if interrupted
  std::uint32_t rounds = 0;  ///< of the federation
  std::string model_hash = {};
  std::uint32_t answered = 0;  ///< rounds answered in this session
};

/// Takes part in a federation until it is finished, `stop` becomes true, or the client cannot continue. After a broken
/// connection, the client reconnects with a pause that grows from 0.2 to 10 s, with jitter; meanwhile the current round
/// continues, and an unacknowledged update is sent again. Throws Error (failure) if the coordinator refuses the client
/// permanently (with its reason), if the client refuses the coordinator, or if it reaches no coordinator for `patience` seconds.
MemberOutcome take_part(const MemberRules& rules, const MemberWork& work, const NetworkLog& log, const std::atomic<bool>* stop);

}  // namespace fedstride
