#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "client/trainer.hpp"
#include "core/pool.hpp"
#include "core/task.hpp"
#include "partitions/client_rows.hpp"
#include "server/accumulator.hpp"
#include "sim/threads.hpp"

namespace fedstride {

/// The states of all clients, a text of bytes each, as a checkpoint has them, and back. unpacked_states throws Error (failure)
/// if the bytes are damaged or of another number of clients.
std::string packed_states(const std::vector<std::string>& states);
std::vector<std::string> unpacked_states(const std::string& bytes, std::size_t clients);

/// Every client in this process, spread over its threads; a Fleet (server/round.hpp). A client is its rows and its
/// state; the large objects, a Trainer each, belong to the threads.
class InProcessFleet {
 public:
  /// The references must outlive the fleet. rows[k] are client k's.
  InProcessFleet(const Model& model, const Dataset& data, const LocalTraining& training, const ClientRows& rows,
                 Threads& threads);

  /// Throws Interrupted if the run is stopped meanwhile.
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates);

  /// The clients' states as bytes, and back; no bytes if they are not kept. load throws Error (failure) if the bytes do not fit.
  std::string save() const;
  void load(const std::string& bytes);

  /// One client's state as bytes, and back, for a fleet that keeps clients in several processes; load throws as above.
  std::string save_client(ClientId client) const { return states_[client].save(training_); }
  void load_client(ClientId client, const std::string& bytes) { states_[client].load(training_, bytes); }

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
  std::vector<ClientState> states_;
  Pool<Trainer> trainers_;  ///< at most one for each thread
  std::atomic<std::uint64_t> progress_{0};
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace fedstride
