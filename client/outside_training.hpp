#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "client/outside_lots.hpp"
#include "client/trainer.hpp"
#include "core/task.hpp"

namespace fedstride {

// Training by code of the user's own, from outside this library. It gets the round's weights and gives trained ones back; what becomes
// of them is what becomes of every update.

/// One client's part of a round.
struct OutsideTask {
  std::uint32_t round = 1;
  ClientId client = 0;
  std::uint64_t rows = 0;                     ///< examples of the client
  std::uint64_t seed = 0;                     ///< drawn at (outside_training, round, client), below 2^63
  std::optional<OutsideLotsTerms> lots = {};  ///< under example-level privacy: its noisy gradients
  std::string state = {};  ///< as the client's last answer gave it; empty before the first one and where nothing is kept
};

/// A client's trained weights, as long as the model, with zeros between tensors.
struct OutsideAnswer {
  ClientId client = 0;
  Vector weights = {};
  std::string state = {};
  std::uint64_t examples = 0;  ///< gradient examples
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::string failure = {};  ///< why there are no weights, in one line; empty if there are
  LotReport lots = {};       ///< under example-level privacy: of all its lots
  std::uint64_t empty_lots = 0;
};

/// Trains these clients and passes each answer on, in any order, from the thread that called it. May throw Interrupted.
using OutsideTraining =
    std::function<void(const Task& task, std::span<const ClientId> clients, const std::function<OutsideTask(ClientId)>& task_of,
                       const std::function<void(OutsideAnswer)>& answer)>;

OutsideTask outside_task(const LocalTraining& training, const Task& task, ClientId client, std::uint64_t rows, std::string state);

/// Makes an update of an answer, with the client's own noise where it adds any, and passes it on. Under example-level privacy its
/// report says that all releases reserved for the client were made: nobody can see where code of the user's own stopped, and why.
void send_answer(const LocalTraining& training, const Task& task, std::uint64_t rows, OutsideAnswer answer, UpdateSink sink);

/// Clips a client's update and adds its own noise, in place.
void release_update(const LocalRelease& release, std::uint32_t round, ClientId client, Vector& update);

}  // namespace fedstride
