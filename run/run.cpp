#include "run/run.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/seconds_since.hpp"
#include "core/stop.hpp"
#include "dp/noise/client_release.hpp"
#include "run/evaluate_clients.hpp"
#include "run/outside.hpp"
#include "run/private_components.hpp"
#include "run/private_evaluation.hpp"
#include "run/private_moments.hpp"
#include "run/run_folder.hpp"
#include "sim/dealt_states.hpp"
#include "sim/in_process_fleet.hpp"
#include "sim/threads.hpp"

namespace fedstride {
namespace {

// The test pictures of all classes but one, with the trigger that shall have them taken for that one.
class BackdoorTest {
 public:
  explicit BackdoorTest(const Setup& setup)
      : data_(setup.data.test), evaluator_(setup.model, data_, with_trigger(setup, data_)) {}
  double success(const Vector& model, ForEachPiece help) { return evaluator_.evaluate(model, help).accuracy; }

 private:
  static std::vector<Row> with_trigger(const Setup& setup, Dataset& data) {
    const AttackPart& attack = *setup.training.attack.attack;
    std::vector<Row> rows;
    for (Row row = 0; row < data.size(); ++row) {
      if (data.labels[row] == attack.target()) continue;
      attack.trigger(data, row);
      data.labels[row] = attack.target();
      rows.push_back(row);
    }
    return rows;
  }

  Dataset data_;
  Evaluator evaluator_;
};

// Test accuracy on each client's mix of classes; empty if the clients' rows are not here or have no class.
std::vector<double> client_accuracies(const Setup& setup, const Evaluation& test) {
  if (setup.rows.row_count() == 0 || test.class_examples.empty()) return {};
  const Dataset& train = setup.data.train;
  std::vector<double> accuracies;
  accuracies.reserve(setup.rows.size());
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(train.classes));
  for (const auto& rows : setup.rows) {
    std::ranges::fill(counts, 0);
    for (const Row row : rows) ++counts[train.labels[row]];
    accuracies.push_back(test.accuracy_on(counts));
  }
  return accuracies;
}

// In a run that goes on the first weights are unknown, and the state is loaded.
Server make_server(const Setup& setup) {
  const Configuration& configuration = setup.configuration;
  const auto with_losses = [&](Server server) {
    if (configuration.cohort->asks_for_losses()) server.remember_losses(setup.row_counts.size());
    server.set_schedule({configuration.server_schedule, configuration.server_final_factor, configuration.server_schedule_rounds,
                         configuration.server_decay});
    return server;
  };
  if (!configuration.optimizer->is_told())
    return with_losses(Server(configuration.server, setup.model.size(), configuration.objective));
  const int adapting = configuration.optimizer->epoch_of_change() / configuration.local_epochs;
  PoolPlan plan{
      .start_norm = l2_norm(view(setup.initial)),
      .clients_a_round = configuration.cohort->rate(setup.row_counts.size()) * static_cast<double>(setup.row_counts.size()),
      .rounds = static_cast<std::uint32_t>(std::clamp(adapting, 1, configuration.rounds))};
  for (ClientId client = 0; client < setup.row_counts.size(); ++client)
    plan.steps_a_round += steps_of(setup.training, client, setup.row_counts[client], plan.rounds);
  plan.steps_a_round /= static_cast<double>(setup.row_counts.size()) * plan.rounds;
  return with_losses(
      Server(configuration.server, setup.model.size(), configuration.objective, configuration.optimizer->begin_pool(plan)));
}

// Everything of one session of a run, from the checkpoint (round 0: the initial weights) to the last round.
RunSummary carry_out(const Setup& setup, RunFolder& folder, Checkpoint checkpoint, RunPrivacy& privacy,
                     const RunObserver& observer, const FleetMaker& make_fleet) {
  const StopLater until_written;  // a round that is stopped leaves a summary
  const Configuration& configuration = setup.configuration;
  Threads threads(configuration.threads);
  const auto help = [&](int count, function_ref<void(int)> piece) { threads.for_each_piece(count, piece); };
  const auto spread = [&](int count, function_ref<void(int)> piece) {
    threads.for_each_task(static_cast<std::size_t>(count), [&](std::size_t i) { piece(static_cast<int>(i)); });
  };
  RunFleet fleet = make_fleet.make({setup, threads, observer.stop, folder.path(), checkpoint.configuration, checkpoint.round});
  if (fleet.load && !checkpoint.fleet_state.empty()) fleet.load(checkpoint.fleet_state);
  Server server = make_server(setup);
  server.load(checkpoint.server_state);

  std::optional<GroupEvaluator> own_tests;
  if (!setup.client_test.empty())
    own_tests.emplace(setup.model, client_test_data(setup), client_test_groups(setup), client_skews(setup));
  std::optional<PrivateEvaluation> private_tests;
  if (configuration.evaluate == EvaluateRule::privately) private_tests.emplace(setup);
  const auto is_covered = [&](const Evaluation& test) {
    return private_tests.has_value() || (setup.data.has_public_test && !test.is_told);
  };
  std::optional<BackdoorTest> backdoor;
  if (setup.training.attack.attack->has_backdoor()) backdoor.emplace(setup);
  std::map<EvaluatedOn, std::unique_ptr<Evaluator>> evaluators;
  const bool evaluates = setup.model.has_layers() || fleet.evaluate;
  const auto evaluate = [&](EvaluatedOn examples, double& seconds) {
    const auto start = std::chrono::steady_clock::now();
    const Vector model = server.answer(checkpoint.model);
    Evaluation result;
    if (private_tests && examples != EvaluatedOn::validation) {
      threads.for_each_task(1, [&](std::size_t) {
        result =
            private_tests->evaluate(model, checkpoint.round + (examples == EvaluatedOn::test ? 1 : 0), source_of(setup), help);
      });
    } else if (fleet.evaluate) {
      result = fleet.evaluate(model, examples);
    } else {
      auto& evaluator = evaluators[examples];
      if (evaluator == nullptr) evaluator = make_evaluator(setup, examples);
      threads.for_each_task(1, [&](std::size_t) { result = evaluator->evaluate(model, help); });
    }
    seconds += seconds_since(start);
    return result;
  };

  RunSummary summary{.folder = folder.path().string()};
  if (observer.started) observer.started(setup, summary.folder, checkpoint.round, *fleet.progress);
  std::string hash = model_hash(checkpoint.model);
  std::uint32_t saved = checkpoint.round;
  const auto save = [&] {
    folder.save(checkpoint);
    saved = checkpoint.round;
    if (fleet.checkpointed) fleet.checkpointed(saved);
  };
  std::optional<Evaluation> latest;
  while (checkpoint.round < static_cast<std::uint32_t>(configuration.rounds)) {
    if (observer.stop != nullptr && observer.stop->load()) {
      summary.interrupted = true;
      break;
    }
    RoundRecord record{.round = checkpoint.round + 1};
    const RunPrivacy::Permission permission = privacy.reserve(record.round, hash);
    if (!permission.refusal.empty()) {
      summary.halted = permission.refusal;
      break;
    }
    const auto start = std::chrono::steady_clock::now();
    try {
      record.clients = run_round(record.round, setup.rules, fleet, server, checkpoint.model, permission.releases, spread);
    } catch (const Interrupted&) {
      summary.interrupted = true;
      // Clients that are back at the last checkpoint already go on from there.
      if (fleet.abandon_round && fleet.abandon_round(checkpoint.round) != checkpoint.round) saved = checkpoint.round;
      break;
    }
    record.seconds = seconds_since(start);
    if (fleet.end_round) fleet.end_round(record.round);
    privacy.record(record.round, record.clients);
    record.example_spent = privacy.example_spent();
    record.client_spent = privacy.client_spent();
    double loss = 0;
    double counted = 0;
    for (const ClientReport& client : record.clients) {
      record.examples += client.examples;
      if (!client.failure.empty()) {
        ++summary.failures;
        continue;
      }
      loss += client.loss * static_cast<double>(client.examples);
      counted += static_cast<double>(client.examples);
    }
    record.train_loss = counted > 0 ? loss / counted : std::numeric_limits<double>::quiet_NaN();
    record.model_hash = hash = model_hash(checkpoint.model);
    latest.reset();
    if (evaluates && setup.rules.evaluated.has(record.round)) {
      record.test = latest = evaluate(EvaluatedOn::test, record.evaluation_seconds);
      record.test_is_covered = is_covered(*latest);
      if (!setup.validation_rows.empty()) record.validation = evaluate(EvaluatedOn::validation, record.evaluation_seconds);
      record.client_accuracy = client_accuracies(setup, *latest);
      if (own_tests)
        threads.for_each_task(
            1, [&](std::size_t) { record.client_test = own_tests->evaluate(server.answer(checkpoint.model), help); });
      if (backdoor)
        threads.for_each_task(
            1, [&](std::size_t) { record.backdoor_success = backdoor->success(server.answer(checkpoint.model), help); });
    }

    checkpoint.round = record.round;
    if (fleet.save) checkpoint.fleet_state = fleet.save();
    checkpoint.server_state = server.save();
    checkpoint.examples += record.examples;
    checkpoint.seconds += record.seconds;
    checkpoint.evaluation_seconds += record.evaluation_seconds;
    checkpoint.idle_rounds += record.is_idle() ? 1 : 0;
    checkpoint.ledger = privacy.mark();
    folder.append(record, configuration, checkpoint);
    if (record.round % static_cast<std::uint32_t>(configuration.checkpoint_every) == 0) save();
    if (observer.round) observer.round(record);
  }
  if (saved != checkpoint.round) save();
  summary.rounds = checkpoint.round;
  summary.evaluation_seconds = checkpoint.evaluation_seconds;
  // The end is evaluated on all rows, to be comparable with other runs; one that was stopped does not wait for that.
  if (evaluates && !setup.evaluation_rows.empty() && !summary.interrupted)
    latest = evaluate(EvaluatedOn::whole_test, summary.evaluation_seconds);
  // A private evaluation of a round is made again with the same draws; one that the ledger does not have is not made.
  const bool may_evaluate = evaluates && !(summary.interrupted && make_fleet.trains_outside) &&
                            (!private_tests || (summary.rounds > 0 && setup.rules.evaluated.has(summary.rounds)));
  summary.test = latest ? *latest
                 : may_evaluate
                     ? evaluate(private_tests ? EvaluatedOn::whole_test : EvaluatedOn::test, summary.evaluation_seconds)
                     : Evaluation::unknown();
  summary.test_is_covered = is_covered(summary.test);
  summary.examples = checkpoint.examples;
  summary.seconds = checkpoint.seconds;
  summary.idle_rounds = checkpoint.idle_rounds;
  summary.pieces_helped = threads.pieces_helped();
  summary.privacy = privacy.statements();
  summary.ledger = privacy.mark();
  const Vector answer = server.answer(checkpoint.model);
  folder.write_results(setup, answer, summary, model_hash(answer));
  if (fleet.finish && !summary.interrupted) fleet.finish(summary.rounds, hash);
  return summary;
}

// A run's beginning on disk, once its configuration is there: from it the run can continue after a kill. The checkpoint comes
// before the first reservation, so that a ledger with one and no checkpoint has lost it.
Checkpoint begin(Setup& setup, const RunFolder& folder, std::optional<RunPrivacy>& privacy) {
  const std::optional<SecretKey> key = begin_secrets(setup, folder.path());
  privacy.emplace(setup, folder.path(), std::nullopt, key);
  if (setup.privacy.on()) use_source(setup, private_source(setup, key));
  Checkpoint checkpoint{.configuration = run_identity(setup, key),
                        .model = setup.initial,
                        .server_state = make_server(setup).save(),
                        .ledger = privacy->mark()};
  if (!setup.configuration.publishable && setup.rows.row_count() > 0) folder.write_partition(setup);
  folder.start_results();
  folder.save(checkpoint);
  return checkpoint;
}

// The rest of a run from its checkpoint. Moments of the inputs and private components are charged and then released here.
RunSummary go_on(Setup& setup, RunFolder& folder, Checkpoint checkpoint, RunPrivacy& privacy, const RunObserver& observer,
                 const FleetMaker& make_fleet) {
  privacy.enter_once();
  const RandomSource once = private_source(setup, secrets_of(setup, folder.path()));
  release_moments(setup, once);
  project_on_components(setup, once);
  poison(setup);
  return carry_out(setup, folder, std::move(checkpoint), privacy, observer, make_fleet);
}

Settings settings_to_resume(const std::string& folder, const Settings& overrides) {
  Settings settings = read_settings((std::filesystem::path(folder) / "config.toml").string());
  for (const auto& [key, setting] : overrides) {
    if (key != "rounds" && !is_free_on_resume(key))
      throw usage_error(key +
                        " cannot change when a run goes on; only rounds, evaluate-every, evaluate-rows, checkpoint-every, "
                        "threads, quiet, data, data-dir "
                        "and roster can");
    settings[key] = setting;
  }
  return settings;
}

}  // namespace

bool RoundRecord::is_idle() const {
  std::uint64_t steps = 0;
  std::uint64_t rejected = 0;
  for (const ClientReport& client : clients) {
    steps += client.steps;
    rejected += client.rejected;
  }
  return steps > 0 && rejected == steps;
}

std::unique_ptr<Evaluator> make_evaluator(const Setup& setup, EvaluatedOn examples) {
  if (examples == EvaluatedOn::validation)
    return std::make_unique<Evaluator>(setup.model, setup.data.train, setup.validation_rows);
  return std::make_unique<Evaluator>(setup.model, setup.data.test,
                                     examples == EvaluatedOn::test ? setup.evaluation_rows : std::vector<Row>{},
                                     setup.training.skew_of_test());
}

RunFleet in_process_fleet(const FleetTask& task) {
  const Setup& setup = task.setup;
  auto fleet = std::make_shared<InProcessFleet>(setup.model, setup.data.train, setup.training, setup.rows, task.threads);
  fleet->stop_when(task.stop);
  if (setup.training.keeps_clients()) {
    deal_out_states(task.folder, task.identity, task.round, std::vector<std::size_t>(setup.rows.size()), 1);
    fleet->keep_in(StateStore(state_store_path(task.folder, 0, 1), task.identity, task.round));
  }
  return run_fleet(std::move(fleet));
}

RunSummary run(const Configuration& configuration, const Settings& settings, const RunObserver& observer,
               const FleetMaker& make_fleet) {
  Setup setup = prepare(configuration, FirstWeights::drawn, make_fleet.rows);
  require_fleet(setup, make_fleet);
  if (make_fleet.check) make_fleet.check(setup);
  RunFolder folder = RunFolder::create(configuration.out, configuration);
  Checkpoint checkpoint;
  std::optional<RunPrivacy> privacy;
  try {
    folder.write_configuration(write_settings(with_absolute_paths(configuration), settings));
    checkpoint = begin(setup, folder, privacy);
  } catch (...) {
    folder.discard();
    throw;
  }
  return go_on(setup, folder, std::move(checkpoint), *privacy, observer, make_fleet);
}

RunSummary resume(const std::string& name, const Settings& overrides, const RunObserver& observer, const FleetMaker& make_fleet,
                  const std::function<void(Configuration&)>& configure) {
  RunFolder folder = RunFolder::open(name);
  const Settings settings = settings_to_resume(name, overrides);
  if (const auto code = settings.find("code"); code != settings.end() && !configure && !make_fleet.trains_outside)
    if (const std::string text = value_text(code->second.value); !text.empty())
      throw usage_error("the run in '" + name + "' has code of its own ('" + text +
                        "'), which this command does not have; fedstride.resume in Python goes on with it (docs/python.md)");
  Configuration configuration = resolve(settings);
  if (configure) configure(configuration);
  std::optional<Checkpoint> saved = folder.load();
  if (saved && saved->round > static_cast<std::uint32_t>(configuration.rounds))
    throw usage_error("rounds is " + std::to_string(configuration.rounds) + "; the run in '" + name + "' has finished " +
                      std::to_string(saved->round) + " already, name that many or more");
  require_named_code(configuration, name);
  Setup setup = prepare(configuration, saved ? FirstWeights::elsewhere : FirstWeights::drawn, make_fleet.rows);
  require_fleet(setup, make_fleet);
  setup.cohort_hash = configuration.cohort->file_hash(setup.row_counts.size());
  if (make_fleet.check) make_fleet.check(setup);
  std::optional<RunPrivacy> privacy;
  Checkpoint checkpoint;
  if (saved) {
    const std::optional<SecretKey> key = secrets_of(setup, folder.path());
    if (run_identity(setup, key) != saved->configuration)
      throw failure("the run in '" + name + "' was started with other settings, other data" +
                    (key ? ", another secret.key" : "") + " or another build" +
                    (rounds_decide_noise(setup) ? ", or for another number of rounds, which its noise was fitted to" : "") +
                    "; it cannot go on");
    checkpoint = std::move(*saved);
    if (checkpoint.model.size() != setup.initial.size())
      throw failure("the checkpoint in '" + name + "' holds a model of another size");
    if (setup.privacy.on()) use_source(setup, private_source(setup, key));
    privacy.emplace(setup, folder.path(), checkpoint.ledger, key);
  } else {
    checkpoint = begin(setup, folder, privacy);
  }
  folder.cut_results(checkpoint);
  if (!overrides.empty()) folder.write_configuration(write_settings(with_absolute_paths(configuration), settings));
  return go_on(setup, folder, std::move(checkpoint), *privacy, observer, make_fleet);
}

}  // namespace fedstride
