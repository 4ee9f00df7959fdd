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

// Training by user code outside this library. The code receives the round's weights and returns trained weights, which are then
// treated like any other update.

/// One client's part of a round.
struct OutsideTask {
  std::uint32_t round = 1;
  ClientId client = 0;
  std::uint64_t rows = 0;                     ///< number of the client's examples
  std::uint64_t seed = 0;                     ///< drawn at (outside_training, round, client), below 2^63
  std::optional<OutsideLotsTerms> lots = {};  ///< for noisy gradients, under example-level privacy
  std::string state = {};  ///< from the client's last answer; empty before the first answer and if nothing is kept
};

/// A client's trained weights, of the model's length and with zeros between tensors.
struct OutsideAnswer {
  ClientId client = 0;
  Vector weights = {};
  std::string state = {};
  std::uint64_t examples = 0;  ///< gradient examples
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::string failure = {};  ///< one line saying why there are no weights; empty if there are
  LotReport lots = {};       ///< counts over all the client's lots, under example-level privacy
  std::uint64_t empty_lots = 0;
};

/// Trains these clients and passes each one's answer to `answer`, in any order, from the calling thread. May throw Interrupted.
using OutsideTraining =
    std::function<void(const Task& task, std::span<const ClientId> clients, const std::function<OutsideTask(ClientId)>& task_of,
                       const std::function<void(OutsideAnswer)>& answer)>;

OutsideTask outside_task(const LocalTraining& training, const Task& task, ClientId client, std::uint64_t rows, std::string state);

/// Turns an answer into an update, with the client's own noise if it adds any, and passes it on. Under example-level privacy the
/// report counts all releases reserved for the client as made, since it is unknown where and why user code stopped.
void send_answer(const LocalTraining& training, const Task& task, std::uint64_t rows, OutsideAnswer answer, UpdateSink sink);

/// Clips a client's update and adds the client's own noise, in place.
void release_update(const LocalRelease& release, std::uint32_t round, ClientId client, Vector& update);

}  // namespace fedstride
