#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "nn/evaluation.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

/// The examples a model is evaluated on: the test rows selected by evaluate-rows, the validation rows, or the whole test part.
enum class EvaluatedOn : std::uint8_t { test, validation, whole_test };

/// A task for one client, with a model and a task number (Task::round) of its own.
struct ClientTask {
  ClientId client = 0;
  Task task;
};

/// The clients of a run, in one process, on a network or on a cluster; the results are the same. All functions except
/// progress() are called from one thread.
class Fleet {
 public:
  virtual ~Fleet() = default;
  Fleet& operator=(Fleet&&) = delete;

  /// Sends a task to the clients of a cohort and adds each client's update to the accumulator once, in any order, from any
  /// thread, or fills parts of the accumulator and merges them. Clients that fail are absent. Throws Interrupted if the run is
  /// stopped during the call.
  virtual void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) = 0;

  /// Does the same for tasks of different clients that began from different models. `ahead` lists tasks that have also begun, in
  /// the order in which they will end; the fleet may train some of them now, and must have their results when requested. A
  /// client's state is its state after the last task whose update was added.
  virtual void collect_each(const std::vector<ClientTask>& tasks, const std::vector<ClientTask>& /*ahead*/,
                            Accumulator& updates) {
    for (const ClientTask& one : tasks) collect(one.task, {one.client}, updates);
  }

  /// The number of gradient examples so far; callable from any thread.
  virtual const std::atomic<std::uint64_t>& progress() const { return progress_; }

  /// The number of clients in the last collect() that did not answer in time.
  virtual std::uint64_t absent() { return 0; }

  /// The bytes sent in the last collect(), if frames were actually sent; without a network, bytes are computed elsewhere.
  virtual std::optional<RoundBytes> bytes() { return std::nullopt; }

  /// Called when a round has ended but its checkpoint is not yet written; for fleets that keep clients' states on disk
  /// (StateStore).
  virtual void end_round(std::uint32_t /*round*/) {}
  /// Called when a round was interrupted. Returns the round to which the clients' states now belong: the last round or the last
  /// checkpoint's.
  virtual std::uint32_t abandon_round(std::uint32_t last_round) { return last_round; }
  /// Called when the checkpoint of a round is on disk.
  virtual void checkpointed(std::uint32_t /*round*/) {}

  /// Called after end_round: writes the clients' states into a folder's new store of the run with this identity. Fleets whose
  /// clients are elsewhere do nothing.
  virtual void keep_states(const std::filesystem::path& /*folder*/, const std::string& /*run*/, std::uint32_t /*round*/) {}

  /// Converts the fleet's state in the checkpoint to bytes and back. load throws Error (failure) if the bytes do not fit the
  /// fleet.
  virtual std::string save() { return {}; }
  virtual void load(const std::string& /*bytes*/) {}

  /// True if the fleet's clients run secure aggregation themselves; it then puts their sum into Accumulator::secured().
  virtual bool secures() const { return false; }

  /// Evaluates a model; returns nothing if the process that holds the fleet must evaluate it instead.
  virtual std::optional<Evaluation> evaluate(const Vector& /*model*/, EvaluatedOn /*examples*/) { return std::nullopt; }

  /// Called after the last round of a run that was not interrupted.
  virtual void finish(std::uint32_t /*rounds*/, const std::string& /*model_hash*/) {}

 protected:
  std::atomic<std::uint64_t> progress_{0};
};

}  // namespace fedstride
