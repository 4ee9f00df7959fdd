#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "nn/evaluation.hpp"
#include "nn/group_evaluation.hpp"
#include "run/configuration.hpp"
#include "run/run_privacy.hpp"
#include "run/setup.hpp"

namespace fedstride {

class Threads;

/// One finished round, a line of rounds.jsonl.
struct RoundRecord {
  std::uint32_t round = 0;
  std::optional<Evaluation> test = {};        ///< in rounds that evaluate
  bool test_is_covered = false;               ///< `test` is a function of public rows, or an accounted release
  std::optional<Evaluation> validation = {};  ///< likewise, with a validation split
  std::vector<ClientReport> clients = {};
  std::optional<double> backdoor_success = {};    ///< share of pictures with the trigger that are taken for its class
  std::vector<GroupEvaluation> client_test = {};  ///< each client on its own test rows; empty without them or without `test`
  std::vector<double> client_accuracy = {};       ///< test accuracy on the client's mix of classes; empty without `test`
  double train_loss = 0;                          ///< mean of the clients' not left out, by gradient examples; NaN: none
  std::uint64_t examples = 0;                     ///< gradient examples of the round
  double seconds = 0;                             ///< training and averaging, evaluation not counted
  double evaluation_seconds = 0;                  ///< 0 in rounds that do not evaluate
  std::string model_hash = {};
  std::optional<SpentSoFar> example_spent = {};  ///< example-level privacy: of the client that has spent most
  std::optional<SpentSoFar> client_spent = {};   ///< client-level privacy

  /// Clients made steps, and every one was undone: the round has changed nothing but their rates.
  bool is_idle() const;
};

/// The outcome of a run.
struct RunSummary {
  std::uint32_t rounds = 0;  ///< finished, in all sessions of the run
  bool interrupted = false;
  std::string halted = {};  ///< why it ended before its last round: a privacy budget
  Evaluation test = {};
  bool test_is_covered = false;  ///< RoundRecord::test_is_covered
  std::string folder;
  std::uint64_t examples = 0;
  double seconds = 0;             ///< training and averaging
  double evaluation_seconds = 0;  ///< evaluations, that of the end included
  std::uint64_t idle_rounds = 0;  ///< RoundRecord::is_idle
  std::uint64_t failures = 0;     ///< updates left out, this session
  std::vector<PrivacyStatement> privacy = {};
  LedgerMark ledger = {};
  std::uint64_t pieces_helped = 0;  ///< pieces of a client's step done by another thread, this session
};

/// Callbacks for an observer of a run. Any may be empty.
struct RunObserver {
  std::function<void(const Setup&, const std::string& folder, std::uint32_t rounds_done,
                     const std::atomic<std::uint64_t>& examples)>
      started;
  std::function<void(const RoundRecord&)> round;
  const std::atomic<bool>* stop = nullptr;  ///< when true: the current round is abandoned, the run ends as interrupted
};

/// The examples that a model is evaluated on: the rows of the test part that evaluate-rows leaves, the validation rows, or the
/// whole test part.
enum class EvaluatedOn : std::uint8_t { test, validation, whole_test };
/// An evaluator of a run's model on these; the setup must outlive it, and have validation rows if they are asked for.
std::unique_ptr<Evaluator> make_evaluator(const Setup& setup, EvaluatedOn examples);

/// A run's fleet of any kind (server/round.hpp), with the functions a run needs between rounds. All but the first two may be empty.
struct RunFleet {
  std::function<void(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates)> collect;
  const std::atomic<std::uint64_t>* progress = nullptr;  ///< gradient examples so far
  // For a fleet that keeps something in the run's folder (StateStore). A round that ended in an update ends here before its checkpoint; for one
  // that was interrupted abandon_round tells the round that the clients are now at, the last one or that of the last checkpoint.
  std::function<void(std::uint32_t round)> end_round = {};
  std::function<std::uint32_t(std::uint32_t last_round)> abandon_round = {};
  std::function<void(std::uint32_t round)> checkpointed = {};
  // For a fleet that keeps something in the checkpoint.
  std::function<std::string()> save = {};
  std::function<void(const std::string& bytes)> load = {};
  std::function<void(std::uint32_t rounds, const std::string& model_hash)> finish = {};  ///< after the last round
  std::function<Evaluation(const Vector& model, EvaluatedOn examples)> evaluate = {};    ///< empty: this process evaluates alone
};

/// Anything with collect and progress, as a RunFleet that owns it, with those of the other functions that it has.
template <class Fleet>
RunFleet run_fleet(std::shared_ptr<Fleet> fleet) {
  RunFleet made{.collect = [fleet](const Task& task, const std::vector<ClientId>& cohort,
                                   Accumulator& updates) { fleet->collect(task, cohort, updates); },
                .progress = &fleet->progress()};
  if constexpr (requires { fleet->end_round(0U); }) {
    made.end_round = [fleet](std::uint32_t round) { fleet->end_round(round); };
    made.abandon_round = [fleet](std::uint32_t last_round) { return fleet->abandon_round(last_round); };
    made.checkpointed = [fleet](std::uint32_t round) { fleet->checkpointed(round); };
  }
  if constexpr (requires { fleet->save(); }) {
    made.save = [fleet] { return fleet->save(); };
    made.load = [fleet](const std::string& bytes) { fleet->load(bytes); };
  }
  return made;
}

/// A run that begins or continues, as its fleet needs to know it.
struct FleetTask {
  const Setup& setup;
  Threads& threads;
  const std::atomic<bool>* stop = nullptr;
  std::filesystem::path folder = {};  ///< of the run
  std::string identity = {};          ///< run_identity
  std::uint32_t round = 0;            ///< of the last checkpoint
};

/// Makes the fleet of a run.
struct FleetMaker {
  std::function<RunFleet(const FleetTask& task)> make;
  RowsAre rows = RowsAre::here;
  std::function<void(const Setup& setup)> check = {};  ///< refuses a setup the fleet cannot run, before a folder is made
  bool trains_outside = false;  ///< by code of the user's own (run/outside.hpp), or where nobody here knows
};
RunFleet in_process_fleet(const FleetTask& task);

/// A new run in a new folder (configuration.out, or a free name under runs/). `settings` is the source of the
/// configuration. Throws Error: usage if the folder holds anything, failure for errors during the run; finished rounds stay
/// on disk.
RunSummary run(const Configuration& configuration, const Settings& settings, const RunObserver& observer = {},
               const FleetMaker& make_fleet = {in_process_fleet});

/// Continues the run in the folder `name` from its checkpoint. `overrides` may set rounds (not fewer than are done), threads,
/// evaluate-every and quiet; anything else is refused. The model ends up the same, bit for bit, as without the interruption.
/// `configure` puts what no file can hold, data and parts of a program's own, into the configuration that was read.
RunSummary resume(const std::string& name, const Settings& overrides, const RunObserver& observer = {},
                  const FleetMaker& make_fleet = {in_process_fleet}, const std::function<void(Configuration&)>& configure = {});

}  // namespace fedstride
