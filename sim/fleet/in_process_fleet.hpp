#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/trainer.hpp"
#include "core/pool.hpp"
#include "partitions/client_rows.hpp"
#include "server/fleet.hpp"
#include "sim/fleet/state_store.hpp"
#include "sim/fleet/threads.hpp"

namespace fedstride {

/// A fleet in this process, with a store for the states that its clients keep.
class LocalFleet : public Fleet {
 public:
  void keep_in(StateStore store) { states_.emplace(std::move(store)); }
  void end_round(std::uint32_t round) override {
    if (states_) states_->end_round(round);
  }
  std::uint32_t abandon_round(std::uint32_t last_round) override { return states_ ? states_->abandon_round() : last_round; }
  void checkpointed(std::uint32_t round) override {
    if (states_) states_->checkpointed(round);
  }
  void keep_states(const std::filesystem::path& folder, const std::string& run, std::uint32_t round) override;

 protected:
  std::optional<StateStore> states_;
};

/// Trains every client in this process, on several threads. Each client has only its rows and its state (in a temporary store,
/// unless keep_in() sets another); large objects are in the Trainers, of which there is at most one per thread.
class InProcessFleet : public LocalFleet {
 public:
  /// The arguments must outlive the fleet. rows[k] holds client k's rows.
  InProcessFleet(const Model& model, const Dataset& data, const LocalTraining& training, const ClientRows& rows,
                 Threads& threads);

  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override;
  /// Also trains enough tasks of `ahead` to keep all threads busy; their results stay in memory and are lost when the fleet is
  /// destroyed.
  void collect_each(const std::vector<ClientTask>& tasks, const std::vector<ClientTask>& ahead, Accumulator& updates) override;

  /// When *stop becomes true, clients stop mid-epoch and collect() throws Interrupted.
  void stop_when(const std::atomic<bool>* stop) { stop_ = stop; }

 private:
  const Model& model_;
  const Dataset& data_;
  const LocalTraining& training_;
  const ClientRows& rows_;
  Threads& threads_;
  /// The result of a task trained ahead.
  struct Ready {
    std::uint32_t round = 0;
    ClientReport report = {};
    Vector change = {};
    std::string code = {};
    std::string state = {};
  };
  /// Trains a client from its state, passes its update to `sink`, and returns its new state; empty if no state is kept.
  std::string train(const Task& task, ClientId client, UpdateSink sink);

  std::size_t max_rows_ = 0;
  std::map<ClientId, Ready> ready_;
  Pool<Trainer> trainers_;  ///< at most one per thread
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace fedstride
