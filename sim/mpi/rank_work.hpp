#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/function_ref.hpp"
#include "sim/fleet/in_process_fleet.hpp"
#include "sim/fleet/threads.hpp"
#include "sim/mpi/messages.hpp"
#include "sim/mpi/ranks.hpp"
#include "sim/run/model_tests.hpp"

namespace fedstride {

/// Returns the exception's message.
std::string text_of(const std::exception_ptr& thrown);

/// The work of one rank in a run; rank 0 works in the same way. The rank trains the clients assigned to it and evaluates its part
/// of the examples.
class RankWork {
 public:
  /// The arguments must outlive this object. When *stop becomes true, training is interrupted.
  RankWork(const Setup& setup, Threads& threads, const Ranks& ranks, const std::atomic<bool>* stop);

  /// Trains those of the cohort's clients that are assigned to this rank, and adds their updates to `part`. Never throws; if the
  /// answer's `error` or `interrupted` is set, its other members are empty. Calls meanwhile() on the calling thread every few
  /// milliseconds.
  TrainAnswer train(const Task& task, const std::vector<ClientId>& cohort, Accumulator& part, function_ref<void()> meanwhile);
  /// True if the round's updates are kept and can be aggregated in slices of coordinates, one for each rank.
  bool aggregates_slices() const;
  /// Aggregates in slices, starting from this rank's updates; called by all ranks together. On rank 0, returns one update that
  /// represents the whole round, or none; on other ranks, returns nothing. An error ends the job.
  std::vector<PartOfSum::Update> aggregate_slices(Ranks& ranks, std::uint32_t round, const std::vector<ClientId>& cohort,
                                                  const std::vector<PartOfSum::Update>& own);
  EvaluateAnswer evaluate(const Vector& model, EvaluatedOn examples);
  /// Evaluates all examples on this rank.
  Evaluation evaluate_alone(const Vector& model, EvaluatedOn examples);

  /// Returns the clients of a cohort, grouped by rank. If states are kept, each client stays on one rank for the whole run.
  std::vector<std::vector<ClientId>> placed(const std::vector<ClientId>& cohort) const;

  /// If clients keep state: opens this rank's store in the run's folder, which must be visible to every rank.
  void keep_in(const std::string& folder, const std::string& identity, std::uint32_t round);
  /// Called after the checkpoint of this round has been written and before the next round is trained.
  void checkpointed(std::uint32_t round) { fleet_.checkpointed(round); }
  /// Commits or abandons a round in the store. Never throws.
  KeepAnswer keep(RequestKind kind, std::uint32_t round);
  /// Returns the rank that holds each client's state, indexed by client; empty if no state is kept.
  const std::vector<std::size_t>& home() const { return home_; }
  InProcessFleet& fleet() { return fleet_; }
  const InProcessFleet& fleet() const { return fleet_; }

  /// Interrupts the current training and blocks further training until resume(). May be called on any thread.
  void halt() { halt_ = true; }
  void resume() { halt_ = false; }
  bool halted() const { return halt_.load(); }
  bool stopped() const { return stop_ != nullptr && stop_->load(); }

 private:
  Evaluator& evaluator(EvaluatedOn examples);

  const Setup& setup_;
  Threads& threads_;
  std::size_t rank_;
  std::size_t ranks_;
  const std::atomic<bool>* stop_;
  std::atomic<bool> halt_{false};
  InProcessFleet fleet_;
  std::vector<std::size_t> home_ = {};
  std::map<EvaluatedOn, std::unique_ptr<Evaluator>> evaluators_ = {};
};

}  // namespace fedstride
