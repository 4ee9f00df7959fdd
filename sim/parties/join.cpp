#include "sim/parties/join.hpp"
#include "sim/settings/rules.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "client/report.hpp"
#include "client/told_evaluation.hpp"
#include "client/trainer.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/floating_point.hpp"
#include "core/hash.hpp"
#include "core/pooled_statistic.hpp"
#include "core/seconds_since.hpp"
#include "core/secret_key.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "data/split.hpp"
#include "partitions/outside_rows.hpp"
#include "partitions/own_rows.hpp"
#include "server/secure_sum.hpp"
#include "sim/fleet/threads.hpp"
#include "sim/net/key_proof.hpp"
#include "sim/net/secure_attempt.hpp"
#include "sim/net/service_manager.hpp"
#include "sim/net/status.hpp"
#include "sim/parties/client_folder.hpp"
#include "sim/parties/terms.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/fleets.hpp"
#include "sim/run/run_privacy.hpp"

namespace fedstride {
namespace {

/// Returns the expiry of the client's certificate or of its authority, whichever is earlier; 0 without certificates.
std::time_t expires_of(const JoinOptions& options) {
  if (options.certificates.empty()) return 0;
  return expires_on(client_files_at(options.certificates, options.client), client_name(options.client));
}

Transport transport_of(const JoinOptions& options) {
  if (!options.certificates.empty()) {
    const TlsFiles files = client_files_at(options.certificates, options.client);
    const std::string name = client_name(options.client);
    if (const std::string soon = expiry_warning("the certificate of " + name, expires_of(options), std::time(nullptr));
        !soon.empty())
      options.log.warn(soon);
    return Transport::tls(Transport::Side::client, files, name);
  }
  if (!is_loopback(options.connect))
    throw usage_error("connect is '" + options.connect.text() +
                      "'; without --certificates, only a loopback address with --insecure-loopback is valid");
  return Transport::plain();
}

void require_privacy(const PrivacySetup& privacy, RequiredPrivacy level) {
  const bool examples = level == RequiredPrivacy::client || privacy.example;
  const bool clients = level == RequiredPrivacy::example || privacy.client;
  if (!examples || !clients)
    throw refused_for_good("require-dp is '" + std::string(choice_name(level)) + "'; the experiment protects " +
                           (privacy.example  ? "only examples"
                            : privacy.client ? "only clients"
                                             : "neither examples nor clients"));
}

/// Describes the experiment to the user in one line.
std::string terms_text(const Setup& setup, ClientId client) {
  const Configuration& configuration = setup.configuration;
  const auto level = [](const char* name, const LevelSetup& of) {
    return std::string("; ") + name + "-level privacy, noise multiplier " + number_text(of.noise_multiplier) + ", clip " +
           number_text(of.clip) + ", " +
           (of.epsilon > 0 ? "up to epsilon " + number_text(of.epsilon) : std::string("no bound on epsilon")) + " at delta " +
           number_text(of.delta);
  };
  return "client " + std::to_string(client) + " trains " + configuration.model + " with " +
         std::string(configuration.optimizer.name()) + " on " + counted(setup.clients.row_counts[client], "row") +
         (configuration.partition.as<OwnRows>() != nullptr || configuration.partition.as<OutsideRows>() != nullptr
              ? " of its own"
              : " of " + configuration.dataset) +
         (setup.privacy.example ? level(user_level(configuration.privacy) != nullptr ? "user" : "example", *setup.privacy.example)
                                : "") +
         (setup.privacy.client ? level("client", *setup.privacy.client) : "") +
         (setup.rules.sum.secure ? "; secure aggregation: its update is sent masked" : "") +
         (setup.privacy.on()       ? ""
          : setup.rules.sum.secure ? "; no privacy: the coordinator sees the exact sum of all updates"
                                   : "; no privacy: its updates are sent unprotected");
}

/// Returns the data hash to send to the coordinator: a keyed hash if the client has its own rows.
std::string sent_data_hash(const Setup& setup) {
  const Configuration& configuration = setup.configuration;
  if (configuration.partition.as<OwnRows>() == nullptr) return setup.data.hash;
  return told_hash(configuration.dataset, data_options(configuration), setup.data.hash);
}

/// A client taking part in a federation.
class Participant {
 public:
  explicit Participant(const JoinOptions& options) : options_(options), folder_(options.folder), threads_(options.threads) {
    if (auto memory = folder_.load()) memory_ = std::move(*memory);
    last_round_ = memory_.round;
  }

  Ready prepare(const Welcome& welcome, Packings& packings) {
    Settings settings = parse_settings(welcome.settings, "the coordinator's settings");
    Configuration configuration = resolve(settings);
    configuration.data = options_.data;
    configuration.data_dir = options_.data_dir;
    configuration.threads = options_.threads;
    experiment_.reset();
    auto experiment = std::make_unique<Experiment>(prepare_member(configuration, options_.client, welcome));
    Setup& setup = experiment->setup;
    if (options_.client >= setup.clients.rows.size())
      throw failure("client is " + std::to_string(options_.client) + ", but the experiment's partition has " +
                    counted(setup.clients.rows.size(), "client"));
    const std::span<const Row> rows = setup.clients.rows[options_.client];
    Ready ready{.data_hash = sent_data_hash(setup),
                .rows_hash = rows_hash(rows),
                .rows = setup.clients.row_counts[options_.client],
                .last_round = 0,
                .evaluates = static_cast<bool>(options_.evaluate)};
    if (options_.require_secure && !setup.rules.sum.secure)
      throw failure(
          "require-secure is set; the experiment has secure-aggregation 'none', so its coordinator would "
          "see this client's updates");
    if (setup.rules.sum.secure) {
      signing_key_ = folder_.signing_key();
      const secagg::Bytes32 key = secagg::verifying_key(*signing_key_);
      ready.signing_key = hex_of(key);
      if (!options_.certificates.empty()) {
        const TlsFiles files = client_files_at(options_.certificates, options_.client);
        ready.key_proof = key_proof(files, options_.client, key);
        key_checker_.emplace(files);
      }
    }
    if (options_.require_dp) require_privacy(setup.privacy, *options_.require_dp);
    if (options_.limit && !setup.privacy.on())
      throw refused_for_good("max-epsilon is " + number_text(options_.limit->epsilon) +
                             "; the experiment has no privacy, so its epsilon is unbounded");
    if (options_.train) {
      // A repeated round has the same noise, but user code may compute different gradients.
      if (setup.privacy.example)
        throw refused_for_good(
            "the experiment protects examples (dp '" + std::string(setup.configuration.privacy.name()) +
            "'), which a client's own code cannot guarantee over a network, where rounds may be repeated; valid: dp "
            "'client'");
      check_rules(setup.configuration, RuleScope::own_code);
    } else if (!setup.model.has_layers()) {
      throw refused_for_good(
          "the experiment's model has no layers, so only the client's own code can train it: use fedstride.Client in "
          "Python, or 'fedstride join --train FILE.py'");
    }
    open_memory(welcome, setup);
    std::filesystem::path budget = options_.budget;
    const bool brings_rows = configuration.partition.as<OwnRows>() != nullptr;
    if (budget.empty() && brings_rows) budget = budget_beside(options_.data);
    std::vector<RowBudget> budgets;
    if (setup.privacy.on() && !budget.empty())
      budgets.push_back({budget,
                         {brings_rows ? rows_in(options_.data) : Hash().text(setup.data.hash).text(ready.rows_hash).hex()},
                         run_of(welcome.experiment, setup)});
    privacy_->keep_budgets(std::move(budgets), options_.limit);
    options_.log(terms_text(setup, options_.client));
    if (options_.prepared) options_.prepared(setup);
    setup.data.test = {};
    poison(setup);
    std::vector<Row> kept(rows.begin(), rows.end());
    if (setup.training.test_rows && !setup.training.test_examples)
      std::ranges::copy(setup.training.test_rows(options_.client), std::back_inserter(kept));
    keep_rows(setup.data.train, kept);
    if (!options_.train) experiment->trainer.emplace(setup.model, setup.data.train, setup.training, rows.size());
    packings = packings_of(setup);
    experiment_ = std::move(experiment);
    return ready;
  }

  EvaluationMessage evaluate(const ModelMessage& model, std::uint32_t round) {
    const std::size_t size = experiment_->setup.model.size();
    const Evaluation found =
        sendable(checked_evaluation(options_.evaluate(Vector(view(model.model).first(size))), experiment_->setup));
    return {round, model.model_hash, found.examples, found.loss, found.accuracy};
  }

  std::uint32_t last_round() const { return last_round_; }

  std::pair<Frame, FrameKind> secure(const SecureMessage& asked) {
    try {
      return answer_to(asked);
    } catch (const secagg::UnusableKeys& error) {
      options_.log.warn(std::string(error.what()) + "; this client takes no part in this attempt");
      masking_.reset();
      return {};
    }
  }

  UpdateMessage train(const ModelMessage& model, const Train& train, std::atomic<std::uint64_t>& examples,
                      const std::atomic<bool>& stop) {
    Experiment& at = *experiment_;
    const bool again = train.round == memory_.round;
    const std::string start = input_digest(train);
    if (train.round < memory_.round || (again && start != memory_.model_hash))
      throw refused_for_good("the coordinator asks for round " + std::to_string(train.round) +
                             (again ? " again, with a different model or different accompanying values"
                                    : ", but this client has answered round " + std::to_string(memory_.round)) +
                             ": the coordinator has lost rounds, and a client answers each round for only one model");
    const std::uint64_t separation = at.setup.rules.separation;
    if (!again && memory_.round > 0 && train.round - memory_.round < separation)
      throw refused_for_good("the coordinator asks for round " + std::to_string(train.round) + " after round " +
                             std::to_string(memory_.round) + "; minimum-separation is " + std::to_string(separation));
    const std::vector<std::uint64_t> releases = allowed(train, start);
    // A repeated round starts from the same state as before.
    const std::string before = again ? memory_.state_before : memory_.state_after;
    UpdateMessage message{.round = train.round, .model_hash = train.model_hash, .report = {}, .change = {}};
    const std::size_t size = at.setup.model.size();
    const Vector weights(view(model.model).first(size));
    const std::span<const float> beside = view(model.model).subspan(size);
    const Task task{train.round, weights, releases, train.told, beside, train.tests};
    const bool is_secure = at.setup.rules.sum.secure.has_value();
    masking_.reset();
    input_.reset();
    std::atomic<std::uint64_t> unseen{0};  // counts examples that are not reported: under secure aggregation, progress stays here
    std::atomic<std::uint64_t>& counted_examples = is_secure ? unseen : examples;
    const auto send = [&](const ClientUpdate& update) {
      if (is_secure) return prepare_input(update, train, message);
      message.report = sendable(update.report);
      message.diverged = !update.report.failure.empty() || !ExactSum::admits(update.change);
      if (!message.diverged && update.code.empty()) message.change = Vector(update.change);
      if (!message.diverged) message.code = update.code;
    };
    const std::string after = options_.train ? train_outside(at.setup, task, before, counted_examples, send)
                                             : train_here(at, task, before, {&counted_examples, &stop}, send);
    privacy_->record(train.round, {message.report});
    memory_ = {.experiment = memory_.experiment,
               .terms = memory_.terms,
               .round = train.round,
               .model_hash = start,
               .state_before = before,
               .state_after = after,
               .ledger = privacy_->mark()};
    folder_.save(memory_);
    last_round_ = train.round;
    return message;
  }

 private:
  /// What tells this run apart from others on the same rows: with secret randomness its key, so that a run which begins again is
  /// another one; seeded noise is the same noise.
  std::string run_of(const std::string& experiment, const Setup& setup) const {
    const std::optional<SecretKey> key = secrets_of(setup, options_.folder);
    return Hash().text("fedstride: run").text(experiment).text(key ? bytes_of(*key) : std::string_view()).hex();
  }

  struct Experiment {
    explicit Experiment(Setup all) : setup(std::move(all)) {}
    Setup setup;
    std::optional<Trainer> trainer;
  };

  // train_here and train_outside return the client's state after training.
  std::string train_here(Experiment& at, const Task& task, const std::string& before, const Trainer::Signals& signals,
                         UpdateSink send) {
    ClientState state;
    if (!before.empty()) state.load(at.setup.training, before);
    threads_.run([&] {
      at.trainer->train(
          task, options_.client, at.setup.clients.rows[options_.client], state,
          [&](int count, function_ref<void(int)> piece) { threads_.for_each_piece(count, piece); }, signals, send);
    });
    return at.setup.training.keeps_clients() ? state.save(at.setup.training) : std::string();
  }

  std::string train_outside(const Setup& setup, const Task& task, const std::string& before, std::atomic<std::uint64_t>& examples,
                            UpdateSink send) {
    const ClientId self = options_.client;
    const std::uint64_t rows = setup.clients.row_counts[self];
    std::string after = before;
    bool has_answered = false;
    options_.train(
        task, std::span(&self, 1), [&](ClientId) { return outside_task(setup.training, task, self, rows, before); },
        [&](OutsideAnswer answer) {
          has_answered = true;
          if (answer.failure.empty())
            after = setup.configuration.client_state == ClientStateRule::keep ? answer.state : std::string();
          else
            options_.log.warn("round " + std::to_string(task.round) + " is answered without an update: " + answer.failure);
          examples += answer.examples;
          send_answer(setup.training, task, rows, std::move(answer), send);
        });
    if (!has_answered) throw failure("the client's own code returned no answer in round " + std::to_string(task.round));
    return after;
  }

  /// The update as it enters the secure sum; another attempt needs the same bits.
  struct Input {
    Train train;
    secagg::Ring ring;
    std::uint32_t planned = 0;  ///< clients drawn in this round; 0: not yet known
  };
  struct Masking {
    secagg::Session session;
    std::uint32_t attempt = 0;
    std::unique_ptr<secagg::Client> client = nullptr;
  };

  // Prepares the update as a one-client sum: clipped, weighted and rounded as in a run in one process.
  void prepare_input(const ClientUpdate& update, const Train& train, UpdateMessage& message) {
    const SumRules& rules = experiment_->setup.rules.sum;
    Accumulator own(rules, train.round, std::span(&options_.client, 1),
                    experiment_->setup.configuration.objective->update_size(experiment_->setup.model.size()),
                    Accumulator::Keeps::sum, pooled_reference(train.told));
    own.secure({}, true);
    const std::string remark = own.add(update);
    message.report = own.reports().front();
    message.diverged = !message.report.failure.empty();
    if (message.diverged)
      options_.log.warn("round " + std::to_string(train.round) + " is answered without an update: " + remark);
    else
      input_ = Input{train, own.secured()->ring()};
  }

  std::pair<Frame, FrameKind> answer_to(const SecureMessage& asked) {
    if (!input_ || asked.round != input_->train.round) return {};
    if (asked.stage == 0) begin_attempt(asked);
    if (!masking_ || asked.attempt != masking_->attempt) return {};
    const auto answer = [&](std::uint32_t stage, const auto& message) {
      return std::pair(encode(SecuredMessage{asked.round, asked.attempt, stage, secagg::encoded(message)}), FrameKind::secured);
    };
    secagg::Client& self = *masking_->client;
    switch (asked.stage) {
      case 0:
        return answer(1, self.advertise());
      case 1:
        return answer(2, self.share(secagg::decode<secagg::Roster>(asked.message)));
      case 2: {
        const secagg::Masked masked = self.mask(secagg::decode<secagg::Delivery>(asked.message), input_->ring);
        for (const ClientId other : self.unopened())
          options_.log.warn("round " + std::to_string(asked.round) + ": the shares of client " + std::to_string(other) +
                            " do not open, so this client holds none of them");
        return {encode(MaskedMessage{asked.round, asked.attempt, secagg::encoded(masked)}), FrameKind::masked};
      }
      case 3:
        return answer(4, self.agree(secagg::decode<secagg::Survivors>(asked.message)));
      case 4: {
        const auto opening = self.open(secagg::decode<secagg::Agreements>(asked.message), folder_.kept());
        folder_.keep(opening.keep);
        return answer(5, opening.shares);
      }
      default:
        throw refused_for_good("round " + std::to_string(asked.round) + ": the coordinator asks for stage " +
                               std::to_string(asked.stage) + " of secure aggregation; valid: 0 to 4");
    }
  }

  void begin_attempt(const SecureMessage& asked) {
    const Setup& setup = experiment_->setup;
    const CohortPart& cohort = *setup.configuration.cohort;
    const std::size_t clients = setup.clients.rows.size();
    const std::string round = "round " + std::to_string(asked.round) + ": ";
    const auto invitation = secagg::decode<secagg::Invitation>(asked.message);
    // The planned number of clients is the same in all attempts at a round. Under example-level privacy, clients whose budget is
    // spent are no longer drawn.
    DrawnClients drawn{.among = clients,
                       .least = setup.privacy.example ? 0 : cohort.least(clients),
                       .most = cohort.most(clients),
                       .cohort = setup.configuration.cohort.name()};
    if (input_->planned > 0) drawn.least = drawn.most = input_->planned;
    const auto check_key = [&](const secagg::Invitation::Invited& invited) {
      const secagg::Member& member = invited.member;
      const auto known = known_keys_.find(member.client);
      if (!key_checker_ || (known != known_keys_.end() && known->second == member.key)) return;
      if (const std::string why = key_checker_->objection(member.client, member.key, invited.proof); !why.empty())
        throw secagg::UnusableKeys(Error::Kind::refused, round + why);
      known_keys_[member.client] = member.key;
    };
    auto masking = std::make_unique<Masking>();
    masking->attempt = asked.attempt;
    try {
      masking->session =
          invited_session(*setup.rules.sum.secure, invitation, drawn, input_->train, input_->ring.size(), check_key);
    } catch (const secagg::UnusableKeys&) {
      throw;
    } catch (const Error& error) {
      throw refused_for_good(round + "client " + std::to_string(options_.client) + " refuses: " + error.what());
    }
    masking->client =
        std::make_unique<secagg::Client>(masking->session, options_.client, *signing_key_, secagg::Secret(new_secret_key()));
    input_->planned = invitation.planned;
    masking_ = std::move(masking);
  }

  // A folder belongs to one experiment. Its memory, which includes the initial ledger mark, is on disk before the first round.
  void open_memory(const Welcome& welcome, Setup& setup) {
    bool fresh = memory_.experiment.empty();
    if (!fresh && memory_.experiment != welcome.experiment)
      throw refused_for_good("folder '" + folder_.path().string() +
                             "' belongs to another experiment; choose another folder with --out");
    // If privacy, rows or normalization changed under the same digest, the noise would hide less than the ledger states.
    const std::string terms = experiment_digest(setup);
    const bool changed = !fresh && memory_.terms != terms;
    if (changed && memory_.round > 0)
      throw refused_for_good("the coordinator changed the settings, rows or normalization of the experiment in folder '" +
                             folder_.path().string() + "'");
    fresh = fresh || changed;  // no round has been answered yet; an earlier session may have had the wrong rows
    const std::optional<SecretKey> key = fresh ? begin_secrets(setup, folder_.path()) : secrets_of(setup, folder_.path());
    use_secrets(setup, key);
    privacy_.emplace(setup, folder_.path(), fresh ? std::nullopt : std::optional(memory_.ledger), key, options_.client);
    if (!fresh) return;
    memory_.experiment = welcome.experiment;
    memory_.terms = terms;
    memory_.ledger = privacy_->mark();
    folder_.save(memory_);
  }

  // A digest of the coordinator's inputs to a round's training: the model and the numbers sent with it. A client answers each
  // round for one input only, since another would get the same noise.
  static std::string input_digest(const Train& train) {
    if (train.told.empty()) return train.model_hash;
    return Hash().text(train.model_hash).values(std::span<const double>(train.told)).hex();
  }

  // Reserves the round in the client's own ledger and enforces the client's limit and budget.
  std::vector<std::uint64_t> allowed(const Train& train, const std::string& start) {
    const auto& lots = experiment_->setup.training.privacy;
    const PrivatePlan* const plan = lots ? lots->plans[options_.client].get() : nullptr;
    const double clip = plan != nullptr ? plan->round_clip(train.told) : 0;
    const RunPrivacy::Permission own = privacy_->reserve(train.round, start, clip);
    if (!own.refusal.empty()) throw refused_for_good("round " + std::to_string(train.round) + " is not answered: " + own.refusal);
    if (train.is_private != !own.releases.empty())
      throw refused_for_good("the coordinator and this client disagree on whether the experiment is private");
    if (!train.is_private) return {};
    std::vector<std::uint64_t> releases(own.releases.size(), 0);
    if (train.releases > own.releases[options_.client])
      throw refused_for_good("the coordinator asks for " + std::to_string(train.releases) + " noisy releases in round " +
                             std::to_string(train.round) + "; this client's own ledger allows " +
                             std::to_string(own.releases[options_.client]));
    releases[options_.client] = train.releases;
    return releases;
  }

  const JoinOptions& options_;
  ClientFolder folder_;
  Threads threads_;
  ClientMemory memory_;
  std::atomic<std::uint32_t> last_round_{0};
  std::unique_ptr<Experiment> experiment_;
  std::optional<secagg::Secret> signing_key_;       ///< this and the next two: used only under secure aggregation
  std::optional<KeyChecker> key_checker_;           ///< with certificates
  std::map<ClientId, secagg::Bytes32> known_keys_;  ///< already checked
  std::optional<Input> input_;
  std::unique_ptr<Masking> masking_;
  std::optional<RunPrivacy> privacy_;
};

constexpr std::chrono::seconds kLongestSilence{20};  // of the network thread, which may be busy with a large model

std::vector<StatusPath> member_paths(const JoinOptions& options, const Participant& participant, const MemberState& state,
                                     std::time_t expires) {
  return {{"/metrics", kMetricsType, [&, expires] {
             return member_metrics({.version = build_info().version,
                                    .client = options.client,
                                    .joined = state.joined,
                                    .last_round = participant.last_round(),
                                    .seconds_silent = seconds_since(state.served),
                                    .memory = memory_in_use(),
                                    .disk_free = free_bytes(options.folder / "memory"),
                                    .certificate_expires = expires});
           }}};
}

}  // namespace

MemberOutcome join_federation(const JoinOptions& options, const std::atomic<bool>* stop) {
  const FloatingPointMode mode;
  const StopLater until_left;  // a stopped client still announces that it is leaving
  if (options.status) require_status_token(*options.status, options.status_token);
  const std::time_t expires = expires_of(options);
  MemberState state;
  const MemberRules rules{.client = options.client,
                          .connect = options.connect,
                          .transport = transport_of(options),
                          .authenticated = !options.certificates.empty(),
                          .accept_other_builds = options.accept_other_builds,
                          .patience = options.patience,
                          .state = &state};
  Participant participant(options);
  MemberWork work{.prepare = [&](const Welcome& welcome, Packings& packings) { return participant.prepare(welcome, packings); },
                  .last_round = [&] { return participant.last_round(); },
                  .train = [&](const ModelMessage& model, const Train& train, std::atomic<std::uint64_t>& examples,
                               const std::atomic<bool>& halt) { return participant.train(model, train, examples, halt); }};
  work.secure = [&](const SecureMessage& asked) { return participant.secure(asked); };
  if (options.evaluate)
    work.evaluate = [&](const ModelMessage& model, std::uint32_t round) { return participant.evaluate(model, round); };
  std::optional<StatusServer> page;
  if (options.status)
    page.emplace(*options.status, member_paths(options, participant, state, expires), options.status_token, [&] {
      return health_of(state.ran, kLongestSilence, expires, options.folder / "memory", state.joined ? "" : "not-joined");
    });
  if (page) options.log("status at http://" + Endpoint{options.status->host, page->port()}.text() + "/metrics");
  notify_service_manager("READY=1");
  struct Stopping {
    ~Stopping() { notify_service_manager("STOPPING=1"); }
  } const stopping;
  return take_part(rules, work, options.log, stop);
}

}  // namespace fedstride
