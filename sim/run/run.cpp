#include "sim/run/run.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "client/told_evaluation.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/output.hpp"
#include "core/seconds_since.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "data/files/convert.hpp"
#include "dp/ledger/row_budget.hpp"
#include "sim/prepare/lot_noise.hpp"
#include "sim/prepare/noise_rate.hpp"
#include "sim/run/drive.hpp"
#include "sim/run/fleets.hpp"
#include "sim/run/model_tests.hpp"
#include "sim/run/run_folder.hpp"
#include "sim/run/run_privacy.hpp"
#include "sim/run/stop_rule.hpp"

namespace fedstride {

// If a run is resumed, the initial weights are unknown, and the server's state is loaded afterwards.
Server make_server(const Setup& setup) {
  const Configuration& configuration = setup.configuration;
  const auto with_losses = [&](Server server) {
    if (configuration.cohort->asks_for_losses()) server.remember_losses(setup.clients.row_counts.size());
    server.set_schedule({.course = configuration.server_schedule,
                         .first = configuration.has_noise_server() ? noise_rate(setup) : 1,
                         .last = configuration.server_final_factor,
                         .rounds = configuration.has_noise_server() ? configuration.rounds : configuration.server_schedule_rounds,
                         .decay = configuration.server_decay});
    server.set_statistics(setup.model.running_statistics());
    if (const auto& lots = setup.privacy.example; lots && lots->bound->counts()) server.bound_lots({lots->bound, lots->clip});
    if (const auto& updates = setup.privacy.client; updates && updates->bound->counts())
      server.bound_updates({updates->bound, updates->clip});
    if (const auto& release = setup.rules.sum.release; release && !release->correlation.is_independent())
      server.correlate_noise(release->correlation, server.update_size() + release->beside.count());
    return server;
  };
  if (!configuration.optimizer->is_told())
    return with_losses(Server(configuration.server, setup.model.size(), configuration.objective));
  const int adapting = configuration.optimizer->epoch_of_change() / configuration.local_epochs;
  PoolPlan plan{.start_norm = l2_norm(view(setup.initial)),
                .clients_a_round = participation_rate(configuration, setup.clients.row_counts.size()) *
                                   static_cast<double>(setup.clients.row_counts.size()),
                .rounds = static_cast<std::uint32_t>(std::clamp(adapting, 1, configuration.rounds)),
                .noise = lot_noise(setup)};
  for (ClientId client = 0; client < setup.clients.row_counts.size(); ++client)
    plan.steps_a_round += steps_of(setup.training, client, setup.clients.row_counts[client], plan.rounds);
  plan.steps_a_round /= static_cast<double>(setup.clients.row_counts.size()) * plan.rounds;
  return with_losses(
      Server(configuration.server, setup.model.size(), configuration.objective, configuration.optimizer->begin_pool(plan)));
}

namespace {

// Seconds between checkpoints by default: writing one waits for the disk several times, about a millisecond each, in all as long
// as a short round.
constexpr double kCheckpointSeconds = 1;

bool is_set(const std::atomic<bool>* flag) { return flag != nullptr && flag->load(); }

// One session of a run, from its checkpoint (round 0: the initial weights) to its last round.
class Session {
 public:
  Session(const Setup& setup, RunFolder& folder, Checkpoint checkpoint, RunPrivacy& privacy, const RunObserver& observer,
          const FleetMaker& maker)
      : setup_(setup),
        folder_(folder),
        privacy_(privacy),
        observer_(observer),
        trains_outside_(maker.trains_outside),
        drive_(setup, privacy, make_server(setup), maker, folder.path(), observer.stop, std::move(checkpoint)),
        tests_(setup, drive_.threads, *drive_.fleet),
        stop_rule_(setup),
        summary_{.folder = folder.name()},
        saved_(drive_.state.round) {
    summary_.halted = stop_rule_.read(folder.path() / "rounds.jsonl");
  }

  ~Session() {
    if (observer_.ended) observer_.ended();
  }
  Session& operator=(Session&&) = delete;

  RunSummary carry_out() {
    if (observer_.started) observer_.started(setup_, summary_.folder, saved_, drive_.fleet->progress());
    while (drive_.state.round < static_cast<std::uint32_t>(setup_.configuration.rounds) && summary_.halted.empty()) {
      summary_.interrupted = (observer_.pause_after > 0 && drive_.state.round >= observer_.pause_after) ||
                             is_set(observer_.pause) || is_set(observer_.stop);
      if (summary_.interrupted) break;
      RoundRecord record{.metric = metric_of(setup_.data.train.targets)};
      if (!train(record)) break;
      count(record);
      if (setup_.rules.evaluated.has(record.round)) tests_.test(answer(), record);
      latest_ = record.test;
      keep_if_good(record);
      keep(record);
      if (observer_.round) observer_.round(record);
      if (has_failed(record)) break;
      summary_.halted = stop_rule_.after(record);
    }
    summary_.paused = summary_.interrupted && is_set(observer_.pause) && !is_set(observer_.stop);
    if (saved_ != drive_.state.round) save();
    evaluate_the_end();
    return conclude();
  }

 private:
  Vector answer() const { return drive_.server.answer(drive_.state.model); }

  // False if the session ends without this round because it is stopped, the round fails, or a privacy budget is spent.
  bool train(RoundRecord& record) {
    try {
      summary_.halted = drive_.next(record);
      return summary_.halted.empty();
    } catch (const FailedRound& error) {
      summary_.failed = error.what();
    } catch (const Interrupted&) {
    }
    summary_.interrupted = true;
    // If the clients are already back at the last checkpoint, the run continues from there.
    if (drive_.fleet->abandon_round(drive_.state.round) != drive_.state.round) saved_ = drive_.state.round;
    return false;
  }

  // Under privacy a failed round is released, charged and kept like any other, and then the run ends. No release covers the fact
  // that it ends, so a publishable run continues.
  bool has_failed(const RoundRecord& record) {
    const Configuration& configuration = setup_.configuration;
    if (!is_private(configuration) || configuration.publishable) return false;
    summary_.failed = failure_text(configuration.accept_failures, record.round, record.clients);
    return summary_.interrupted = !summary_.failed.empty();
  }

  // Noise can drive the model so far off that all clients fail, after budget was spent on it. The best model is chosen by its
  // loss on test rows, never by clients' reports.
  void keep_if_good(const RoundRecord& record) {
    if (!setup_.privacy.client || !record.test || !(record.test->loss < good_.loss)) return;
    good_ = {record.round, record.test->loss, answer()};
  }

  // Adds the privacy spent so far, and counts updates left out.
  void count(RoundRecord& record) {
    record.example_spent = privacy_.example_spent();
    record.client_spent = privacy_.client_spent();
    for (const ClientReport& client : record.clients)
      if (!client.failure.empty()) ++summary_.reasons[client.failure];
    const std::uint64_t absent = drive_.fleet->absent();
    if (absent > 0) summary_.reasons["no answer before the round's deadline"] += absent;
    const std::uint64_t left_out = record.failures() + absent;
    summary_.failures += left_out;
    summary_.failed_rounds += left_out > 0 ? 1 : 0;
    ++summary_.session_rounds;
  }

  // Writes the round's line, and a checkpoint if one is due.
  void keep(const RoundRecord& record) {
    Checkpoint& state = drive_.state;
    state.fleet_state = drive_.fleet->save();
    state.server_state = drive_.server.save();
    if (drive_.time) state.time_state = drive_.time->save();
    state.ledger = privacy_.mark();
    state.evaluation_seconds += record.evaluation_seconds;
    folder_.append(record, setup_.configuration, state);
    if (const int every = setup_.configuration.keep_checkpoints;
        every > 0 && state.round % static_cast<std::uint32_t>(every) == 0)
      folder_.keep(state,
                   [&](const std::filesystem::path& kept) { drive_.fleet->keep_states(kept, state.configuration, state.round); });
    if (is_checkpoint_due()) save();
  }

  bool is_checkpoint_due() const {
    const auto every = static_cast<std::uint32_t>(setup_.configuration.checkpoint_every);
    if (every > 0) return drive_.state.round % every == 0;
    // A ledger, clients' folders and users' functions can go back one round at most.
    return trains_outside_ || is_private(setup_.configuration) || seconds_since(saved_at_) >= kCheckpointSeconds;
  }

  void save() {
    if (drive_.time) drive_.time->write_versions();
    folder_.save(drive_.state);
    if (drive_.time) drive_.time->drop_versions();
    saved_ = drive_.state.round;
    saved_at_ = std::chrono::steady_clock::now();
    drive_.fleet->checkpointed(saved_);
  }

  // Rounds are evaluated on the rows chosen by evaluate-rows. The final model is evaluated on all rows, to be comparable with
  // other runs, unless the run was stopped. A round's private evaluation is repeated with the same draws, and is never made
  // without an entry in the ledger.
  void evaluate_the_end() {
    summary_.evaluation_seconds = drive_.state.evaluation_seconds;
    const auto evaluate = [&](EvaluatedOn examples) {
      return tests_.evaluate(answer(), drive_.state.round, examples, summary_.evaluation_seconds);
    };
    const bool is_reserved = drive_.state.round > 0 && setup_.rules.evaluated.has(drive_.state.round);
    if (!setup_.data.evaluation_rows.empty() && !summary_.interrupted)
      latest_ = evaluate(EvaluatedOn::whole_test);
    else if (!latest_ && !(summary_.interrupted && trains_outside_) && (!tests_.is_private() || is_reserved))
      latest_ = evaluate(tests_.is_private() ? EvaluatedOn::whole_test : EvaluatedOn::test);
    summary_.test = latest_.value_or(Evaluation::unknown());
    summary_.test.metric = metric_of(setup_.data.train.targets);
    summary_.test_is_covered = tests_.is_covered(summary_.test);
  }

  RunSummary conclude() {
    const Checkpoint& state = drive_.state;
    const std::optional<VirtualTime>& time = drive_.time;
    summary_.rounds = state.round;
    summary_.examples = state.examples;
    summary_.bytes = {.downlink = state.downlink_bytes, .uplink = state.uplink_bytes, .wasted = state.wasted_bytes};
    summary_.seconds = state.seconds;
    summary_.idle_rounds = state.idle_rounds;
    summary_.pieces_helped = drive_.threads.pieces_helped();
    if (time) summary_.time = time->totals();
    summary_.privacy = privacy_.statements();
    summary_.ledger = privacy_.mark();
    const Vector answer = this->answer();
    folder_.write_results(setup_, answer, summary_, model_hash(answer));
    if (time && !setup_.configuration.timeline.empty()) time->write_timeline(setup_.configuration.timeline);
    if (!summary_.failed.empty())
      throw FailedRound(summary_.failed + "; the run in '" + summary_.folder +
                        "' can be resumed, with accept-failures 'all' to go on without such clients" + kept_good_model());
    if (!summary_.interrupted) drive_.fleet->finish(summary_.rounds, drive_.hash);
    return std::move(summary_);
  }

  // Writes the best model of this session if a failed run ends with another model; returns a note about it.
  std::string kept_good_model() const {
    if (good_.model.empty() || good_.round == drive_.state.round) return "";
    folder_.write_good_model(setup_, good_.model, good_.round);
    return "; the model with the lowest test loss, from round " + std::to_string(good_.round) + ", is in '" +
           (folder_.path() / kGoodModel).string() + "'";
  }

  struct GoodModel {
    std::uint32_t round = 0;
    double loss = std::numeric_limits<double>::infinity();
    Vector model = {};
  };

  const StopLater until_written_{};  // a stopped session still writes its summary
  const Setup& setup_;
  RunFolder& folder_;
  RunPrivacy& privacy_;
  const RunObserver& observer_;
  const bool trains_outside_;
  Drive drive_;
  ModelTests tests_;
  StopRule stop_rule_;
  RunSummary summary_;
  std::uint32_t saved_;  // round of the checkpoint on disk
  std::chrono::steady_clock::time_point saved_at_ = std::chrono::steady_clock::now();
  std::optional<Evaluation> latest_;
  GoodModel good_ = {};
};

// A run does not begin if an output cannot be written.
void check_outputs(const Configuration& configuration, const std::string& own) {
  for (const SettingInfo& info : settings_of<Configuration>())
    if (const SettingValue value = info.get(&configuration);
        info.valid.place == Place::output && !std::get<std::string>(value).empty())
      check_output(std::get<std::string>(value), own);
}

// The state from which a session starts: the run's last checkpoint.
struct Start {
  Checkpoint checkpoint;
  RunPrivacy privacy;
};

// The records of what the run's rows were spent on; none if other parties bring the rows, and keep their own records.
void keep_budgets(Start& start, const Setup& setup) {
  const Configuration& configuration = setup.configuration;
  if (!setup.privacy.on() || setup.clients.rows.row_count() == 0) return;
  std::map<std::filesystem::path, std::vector<std::string>> rows;
  if (configuration.data.empty() && !configuration.budget.empty()) rows[configuration.budget] = {setup.data.hash};
  for (const auto& data : listed_paths(configuration.data)) {
    if (data.empty()) continue;
    const std::filesystem::path named = configuration.budget;
    rows[named.empty() ? budget_beside(data) : named].push_back(rows_in(data));
  }
  std::vector<RowBudget> budgets;
  for (const auto& [file, hashes] : rows) budgets.emplace_back(file, hashes, start.checkpoint.configuration);
  const double delta = setup.privacy.example ? setup.privacy.example->delta : setup.privacy.client->delta;
  const double most = configuration.max_epsilon;
  start.privacy.keep_budgets(std::move(budgets), most > 0 ? std::optional(PrivacyLimit{most, delta}) : std::nullopt);
}

// Writes a run's initial state, once its configuration is on disk; from then on, the run can continue after being killed. The
// checkpoint precedes the first reservation, so if a ledger has a reservation but there is no checkpoint, the checkpoint was
// lost.
Start begin(Setup& setup, const RunFolder& folder) {
  const std::optional<SecretKey> key = begin_secrets(setup, folder.path());
  Start start{.checkpoint = {}, .privacy{setup, folder.path(), std::nullopt, key}};
  use_secrets(setup, key);
  start.checkpoint = {.configuration = run_identity(setup, key),
                      .model = setup.initial,
                      .server_state = make_server(setup).save(),
                      .ledger = start.privacy.mark()};
  keep_budgets(start, setup);
  if (const std::string why = start.privacy.beyond_at_first(); !why.empty()) throw usage_error("the run cannot begin: " + why);
  if (!setup.configuration.publishable && setup.clients.rows.row_count() > 0) folder.write_partition(setup);
  folder.start_results();
  folder.save(start.checkpoint);
  return start;
}

// Like begin(), in a new folder, whose files are removed if the run cannot begin.
Start begin_in_new_folder(Setup& setup, RunFolder& folder, const std::string& settings) {
  try {
    folder.write_configuration(settings);
    return begin(setup, folder);
  } catch (...) {
    folder.discard();
    throw;
  }
}

// Throws Error (failure) if the checkpoint belongs to another run.
Start from_checkpoint(Setup& setup, const RunFolder& folder, Checkpoint saved, const std::string& name) {
  const std::optional<SecretKey> key = secrets_of(setup, folder.path());
  if (run_identity(setup, key) != saved.configuration)
    throw failure("cannot resume '" + name + "': it was started with other settings, other data" +
                  (key ? ", another secret.key" : "") + " or another build" +
                  (rounds_decide_noise(setup.configuration, setup.privacy)
                       ? ", or for another number of rounds, for which its noise was calibrated"
                       : ""));
  if (saved.model.size() != setup.initial.size())
    throw failure("cannot resume '" + name + "': its checkpoint has a model of another size");
  use_secrets(setup, key);
  const LedgerMark ledger = saved.ledger;
  Start start{.checkpoint = std::move(saved), .privacy{setup, folder.path(), ledger, key}};
  keep_budgets(start, setup);
  return start;
}

// Carries out the run from `start`, after charging and releasing moments of the inputs and private components.
RunSummary continue_run(Setup& setup, RunFolder& folder, Start start, const RunObserver& observer, const FleetMaker& make_fleet) {
  release_inputs(setup, start.privacy, secrets_of(setup, folder.path()), [&] { folder.write_schema(setup); });
  return Session(setup, folder, std::move(start.checkpoint), start.privacy, observer, make_fleet).carry_out();
}

Error fixed_on_resume(const std::string& key) {
  std::vector<std::string> free;
  for (const KeyInfo& other : all_keys())
    if (may_change(other.shapes)) free.push_back(other.name);
  return usage_error(key + " cannot change when a run is resumed; only these can: " + joined(free));
}

// Correlated noise is planned for a number of rounds, on which its cost and every round's noise depend.
void refuse_new_horizon(const std::string& folder, const Settings& settings, const Settings& overrides) {
  const std::string asked = setting_text(overrides, "rounds"), planned = setting_text(settings, "rounds");
  const std::string mechanism = setting_text(settings, "noise-mechanism"),
                    separation = setting_text(settings, "minimum-separation");
  const bool is_apart = !separation.empty() && separation != "1";
  const bool is_planned = !mechanism.empty() && mechanism != choice_name(NoiseMechanism{});
  if (asked.empty() || asked == planned || !(is_apart || is_planned)) return;
  throw usage_error(
      "rounds is " + asked + "; the noise of the run in '" + folder + "' (" + mechanism + ") was planned for " + planned +
      ", and its stated privacy cost holds only for these rounds: a run with correlated noise cannot be prolonged or cut short");
}

Settings settings_to_resume(const std::string& folder, const Settings& overrides) {
  Settings settings = read_settings((std::filesystem::path(folder) / "config.toml").string());
  refuse_new_horizon(folder, settings, overrides);
  for (const auto& [key, setting] : overrides) {
    if (!may_change(shapes_of(key))) throw fixed_on_resume(key);
    settings[key] = setting;
  }
  return settings;
}

// The configuration of a resumed run. Throws Error (usage) if it needs user code that is missing or unnamed.
Configuration resumed(const std::string& name, const Settings& settings, bool has_code,
                      const std::function<void(Configuration&)>& configure, std::shared_ptr<const Schema> schema) {
  if (const std::string text = setting_text(settings, "code"); !text.empty() && !has_code)
    throw usage_error("the run in '" + name + "' uses your own code ('" + text +
                      "'), which this command does not have; resume it with fedstride.resume in Python (docs/python.md)");
  Configuration configuration = resolve(settings);
  configuration.schema = std::move(schema);
  if (configure) configure(configuration);
  if (const std::string_view part = configuration.code.unnamed(is_private(configuration)); !part.empty())
    throw usage_error(
        "cannot resume '" + name + "': its " + std::string(part) +
        " function has no name and version, so it cannot be checked; set both with @fedstride.named before starting a run");
  return configuration;
}

Setup prepared(const Configuration& configuration, FirstWeights first, const FleetMaker& make_fleet) {
  require_fleet(configuration, make_fleet);
  Setup setup = prepare(configuration, first, make_fleet.rows);
  if (has_time(configuration)) check_time(setup);
  check_separation(setup);
  if (configuration.keep_checkpoints > 0 && setup.training.keeps_clients() && !make_fleet.holds_states)
    throw usage_error("keep-checkpoints is " + std::to_string(configuration.keep_checkpoints) +
                      "; these clients keep states in other processes, without which no checkpoint is a beginning; valid: 0");
  if (make_fleet.check) make_fleet.check(setup);
  return setup;
}

}  // namespace

RunSummary run(const Configuration& configuration, const Settings& settings, const RunObserver& observer,
               const FleetMaker& make_fleet) {
  check_outputs(configuration, configuration.out);
  Setup setup = prepared(configuration, FirstWeights::drawn, make_fleet);
  check_first_round(setup);
  RunFolder folder = RunFolder::create(configuration.out, configuration);
  Start start = begin_in_new_folder(setup, folder, write_settings(with_absolute_paths(configuration), settings));
  return continue_run(setup, folder, std::move(start), observer, make_fleet);
}

RunSummary run(const Configuration& configuration, const Settings& settings, const RunObserver& observer) {
  return run(configuration, settings, observer, {in_process_fleet});
}

RunSummary run(const Settings& settings, const RunObserver& observer) { return run(resolve(settings), settings, observer); }

RunSummary resume(const std::string& name, const Settings& overrides, const RunObserver& observer) {
  return resume(name, overrides, observer, {in_process_fleet});
}

RunSummary resume(const std::string& name, const Settings& overrides, const RunObserver& observer, const FleetMaker& make_fleet,
                  const std::function<void(Configuration&)>& configure) {
  RunFolder folder = RunFolder::open(name);
  const Settings settings = settings_to_resume(name, overrides);
  const Configuration configuration = resumed(name, settings, configure || make_fleet.trains_outside, configure, folder.schema());
  check_outputs(configuration, name);
  std::optional<Checkpoint> saved = folder.load();
  if (saved && saved->round > static_cast<std::uint32_t>(configuration.rounds))
    throw usage_error("rounds is " + std::to_string(configuration.rounds) + "; the run in '" + name + "' has already finished " +
                      std::to_string(saved->round) + ", so rounds must be at least that");
  Setup setup = prepared(configuration, saved ? FirstWeights::continued : FirstWeights::drawn, make_fleet);
  Start start = saved ? from_checkpoint(setup, folder, *std::move(saved), name) : begin(setup, folder);
  folder.cut_results(start.checkpoint);
  if (!overrides.empty()) folder.write_configuration(write_settings(with_absolute_paths(configuration), settings));
  return continue_run(setup, folder, std::move(start), observer, make_fleet);
}

}  // namespace fedstride
