#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "client/trainer.hpp"
#include "core/pool.hpp"
#include "core/task.hpp"
#include "partitions/client_rows.hpp"
#include "server/accumulator.hpp"
#include "sim/fleet_states.hpp"
#include "sim/threads.hpp"

namespace fedstride {

/// Every client in this process, spread over its threads; a Fleet (server/round.hpp). A client is its rows and its
/// state, which is in a store if it is kept (one that ends with the fleet, unless it is given another); the large objects, a Trainer each, belong to the threads.
class InProcessFleet : public FleetStates {
 public:
  /// The references must outlive the fleet. rows[k] are client k's.
  InProcessFleet(const Model& model, const Dataset& data, const LocalTraining& training, const ClientRows& rows,
                 Threads& threads);

  /// Throws Interrupted if the run is stopped meanwhile.
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates);

  /// Gradient examples computed so far, for a progress bar.
  const std::atomic<std::uint64_t>& progress() const { return progress_; }
  /// When *stop becomes true, clients stop in the middle of an epoch and collect throws Interrupted.
  void stop_when(const std::atomic<bool>* stop) { stop_ = stop; }

 private:
  const Model& model_;
  const Dataset& data_;
  const LocalTraining& training_;
  const ClientRows& rows_;
  Threads& threads_;
  std::size_t max_rows_ = 0;
  Pool<Trainer> trainers_;  ///< at most one for each thread
  std::atomic<std::uint64_t> progress_{0};
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace fedstride
