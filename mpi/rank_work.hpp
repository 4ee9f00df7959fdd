#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/function_ref.hpp"
#include "mpi/messages.hpp"
#include "mpi/ranks.hpp"
#include "run/run.hpp"
#include "sim/in_process_fleet.hpp"
#include "sim/threads.hpp"

namespace fedstride {

/// The share of one rank in a run, rank 0's included: it trains the clients that are placed on it and evaluates its part of the
/// examples.
class RankWork {
 public:
  /// All must outlive it. When *stop becomes true, its training is interrupted.
  RankWork(const Setup& setup, Threads& threads, const Ranks& ranks, const std::atomic<bool>* stop);

  /// Trains this rank's clients of a cohort into `part`. Never throws; an answer with `error` or `interrupted` has nothing else.
  /// meanwhile() is called on the calling thread every few milliseconds.
  TrainAnswer train(const Task& task, const std::vector<ClientId>& cohort, Accumulator& part, function_ref<void()> meanwhile);
  /// True if the round's updates are kept and the aggregation can do its work in slices of coordinates, a rank each.
  bool aggregates_slices() const;
  /// Does so, with this rank's updates; all ranks together. At rank 0 returns one update that stands for all of the round, or none;
  /// nothing elsewhere. An error here ends the job.
  std::vector<PartOfSum::Update> aggregate_slices(Ranks& ranks, std::uint32_t round, const std::vector<ClientId>& cohort,
                                                  const std::vector<PartOfSum::Update>& own);
  EvaluateAnswer evaluate(const Vector& model, EvaluatedOn examples, function_ref<void()> meanwhile);
  /// Evaluates everything.
  Evaluation evaluate_alone(const Vector& model, EvaluatedOn examples);

  /// The clients of a cohort by rank: where states are kept each client has one rank for the whole run.
  std::vector<std::vector<ClientId>> placed(const std::vector<ClientId>& cohort) const;

  /// If clients keep anything: opens this rank's store in the run's folder, which every rank must see.
  void keep_in(const std::string& folder, const std::string& identity, std::uint32_t round);
  /// A checkpoint of this round is on the disk; before the next round is trained.
  void checkpointed(std::uint32_t round) { fleet_.checkpointed(round); }
  /// Ends a round of the store, or abandons one. Never throws.
  KeepAnswer keep(RequestKind kind, std::uint32_t round);
  /// The rank of each client's state, by client; empty if none is kept.
  const std::vector<std::size_t>& home() const { return home_; }
  InProcessFleet& fleet() { return fleet_; }
  const InProcessFleet& fleet() const { return fleet_; }

  /// Interrupts the training in progress, from any thread; until resume().
  void halt() { halt_ = true; }
  void resume() { halt_ = false; }
  bool halted() const { return halt_.load(); }
  bool stopped() const { return stop_ != nullptr && stop_->load(); }

 private:
  Evaluator& evaluator(EvaluatedOn examples);
  /// True if this rank waits for another one anyway, and the two share processors.
  bool may_give_way(const std::vector<std::vector<ClientId>>& placed) const;

  const Setup& setup_;
  Threads& threads_;
  std::size_t rank_;
  std::size_t ranks_;
  bool shares_processors_;
  const std::atomic<bool>* stop_;
  std::atomic<bool> halt_{false};
  InProcessFleet fleet_;
  std::vector<std::size_t> home_ = {};
  std::map<EvaluatedOn, std::unique_ptr<Evaluator>> evaluators_ = {};
};

}  // namespace fedstride
