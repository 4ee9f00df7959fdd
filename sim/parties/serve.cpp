#include "sim/parties/serve.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <mutex>
#include <thread>

#include "client/told_evaluation.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/seconds_since.hpp"
#include "core/text.hpp"
#include "sim/net/key_proof.hpp"
#include "sim/net/service_manager.hpp"
#include "sim/parties/terms.hpp"
#include "sim/run/fleets.hpp"
#include "sim/settings/rules.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

Transport transport_of(const ServeOptions& options) {
  if (!options.certificates.empty())
    return Transport::tls(Transport::Side::server, coordinator_files(options.certificates), kCoordinatorName);
  if (!is_loopback(options.listen))
    throw usage_error("listen is '" + options.listen.text() +
                      "'; without --certificates, only a loopback address with --insecure-loopback is valid");
  return Transport::plain();
}

// Throws if a client could have more distinct releases than a report can hold, and so could never answer.
void require_reportable(const Setup& setup) {
  for (const auto& [sizes, plan] : setup.privacy.plans) {
    const std::uint64_t releases = plan->releases_before(setup.training.epochs);
    const std::size_t runs = plan->noise().runs(0, std::min<std::uint64_t>(releases, 4 * kMaxReleaseRuns)).size();
    if (runs > kMaxReleaseRuns)
      throw usage_error("local-epochs " + std::to_string(setup.training.epochs) + " makes " + counted(releases, "noisy release") +
                        " per round for a client of " + counted(sizes.rows, "row") + ", of which more than " +
                        std::to_string(kMaxReleaseRuns) +
                        " are distinct; a report can hold no more than that: use fewer local epochs or larger batches");
  }
}

FederationTerms terms_of(const Setup& setup) {
  FederationTerms terms{.welcome = welcome_to(setup),
                        .data_hash = setup.data.hash,
                        .metric = metric_of(setup.data.train.targets),
                        .roster = {},
                        .packings = packings_of(setup),
                        .secure = setup.rules.sum.secure.has_value(),
                        .keeps_state = setup.training.keeps_clients(),
                        .tell_rows = [&setup](ClientId client, Welcome& welcome) { tell_rows(setup, client, welcome); }};
  for (std::size_t client = 0; client < setup.clients.rows.size(); ++client) {
    const std::uint64_t count = setup.clients.row_counts[client];
    if (setup.clients.data_hashes.empty())
      terms.roster.push_back({count, rows_hash(setup.clients.rows[client])});
    else
      terms.roster.push_back({count, rows_hash(count), setup.clients.data_hashes[client]});
  }
  return terms;
}

// Returns the number of these rows' targets that an evaluation counts (nn/workspace.cpp); in a sequence, every unmasked position is
// a target.
std::uint64_t target_count(const Dataset& data, std::span<const Row> rows) {
  const std::size_t each = data.form().answers();
  if (data.targets != Targets::positions) return rows.size() * (data.targets == Targets::classes ? 1 : each);
  std::uint64_t answers = 0;
  for (const Row row : rows) {
    const auto labels = std::span(data.position_labels).subspan(data.place(row) * each, each);
    answers += static_cast<std::uint64_t>(std::ranges::count_if(labels, [](Label label) { return label != kNoLabel; }));
  }
  return answers;
}

// A client's reported releases must be a prefix of the allowed releases, since the reported ones enter the ledger.
std::string check_report(const Setup& setup, std::uint32_t round, const ClientReport& report, std::uint64_t releases,
                         std::span<const double> told) {
  std::uint64_t made = 0;
  for (const ReleaseRun& run : report.releases) made += std::min(run.count, releases + 1);
  if (made > releases) return "its report has more noisy releases than the " + std::to_string(releases) + " allowed";
  // An epoch visits each row once, as does a gradient at the received model; a release visits each row at most once.
  const std::uint64_t passes = passes_of_round(setup.training, report.rows) + (setup.training.objective->needs_start() ? 1 : 0);
  const auto visits = static_cast<double>(setup.training.privacy ? made : passes);
  // How often user code visits rows is unknown.
  const double most = setup.model.has_layers() ? std::max(1.0, visits * static_cast<double>(report.rows))
                                               : std::numeric_limits<double>::infinity();
  if (static_cast<double>(std::max({report.examples, report.steps, report.empty_lots, report.nonfinite})) > most)
    return "its report has " + counted(report.examples, "gradient example") + " in " + counted(report.steps, "step") +
           "; at most " + number_text(most) + " are possible";
  if (report.measure != 0 && !setup.training.objective->scales())
    return "its report has a measure of the local objective, but the experiment's objective has none";
  if (report.statistics + report.pairs > 0 && !setup.configuration.optimizer->pools())
    return "its report has statistics of its steps, but the experiment's optimizer pools none";
  const std::uint64_t tested =
      setup.training.test_rows ? target_count(client_test_data(setup), setup.training.test_rows(report.client)) : 0;
  if (report.personal_examples != 0 && report.personal_examples != tested)
    return "its report has a test of its personal model on " + counted(report.personal_examples, "target") + "; it must be on " +
           std::to_string(tested);
  // A step needs at least one example or, under privacy, one release.
  if (report.steps > (setup.training.privacy ? made : report.examples))
    return "its report has " + counted(report.steps, "step") + " but only " +
           (setup.training.privacy ? counted(made, "noisy release") : counted(report.examples, "gradient example"));
  if (report.empty_lots > made)
    return "its report has " + counted(report.empty_lots, "empty lot") + " but only " + counted(made, "noisy release");
  const PrivatePlan* const plan = setup.training.privacy ? setup.training.privacy->plans[report.client].get() : nullptr;
  const double expected = plan != nullptr && plan->counts() ? static_cast<double>(made) * plan->denominator() : 0;
  if (report.expected != expected || (expected == 0 && report.within != 0))
    return "its report counts the gradients of " + number_text(report.expected) + " expected examples; it must count " +
           number_text(expected);
  if (!setup.training.privacy) {
    bool has_lots = false;
    for_each_report_number([&](const auto& field) { has_lots |= field.is(ReportRule::with_lots) && report.*field.member > 0; });
    return has_lots ? "its report has clipped gradients, but the experiment clips none" : "";
  }
  const std::uint64_t first = plan->releases_before(setup.training.first_epoch(round));
  if (report.releases != plan->runs(first, made, plan->round_clip(told)))
    return "its report has noisy releases that differ from those requested";
  return {};
}

/// On a thread of its own, calls back when the files are to be read again, says so when a pause is asked for, tells the service
/// manager that the network thread answers, and warns once a day if the coordinator's certificate expires soon.
class Watcher {
 public:
  struct Calls {
    std::function<void()> read_again;
    std::function<void()> ping;  ///< returns once the network thread has answered
    std::function<std::time_t()> expires;
  };
  Watcher(const ServeOptions& options, const std::atomic<bool>* pause, Calls calls)
      : options_(options), pause_(pause), calls_(std::move(calls)), seen_(options.reread ? options.reread->load() : 0) {
    warn();
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }

 private:
  static constexpr std::chrono::hours kBetweenWarnings{24};

  void watch(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (options_.reread && options_.reread->load() != seen_) {
        seen_ = options_.reread->load();
        calls_.read_again();
      }
      if (pause_ != nullptr && pause_->load() && !std::exchange(is_pausing_, true))
        options_.log("draining: this coordinator ends after the current round; the same command continues");
      if (std::chrono::steady_clock::now() - warned_ > kBetweenWarnings) warn();
      if (std::chrono::steady_clock::now() - pinged_ > kWatchdogEvery) {
        calls_.ping();
        notify_service_manager("WATCHDOG=1");
        pinged_ = std::chrono::steady_clock::now();
      }
    }
  }
  void warn() {
    warned_ = std::chrono::steady_clock::now();
    if (const std::string soon = expiry_warning("the coordinator's certificate", calls_.expires(), std::time(nullptr));
        !soon.empty())
      options_.log.warn(soon);
  }

  const ServeOptions& options_;
  const std::atomic<bool>* pause_;
  Calls calls_;
  unsigned seen_;
  bool is_pausing_ = false;
  std::chrono::steady_clock::time_point warned_;
  std::chrono::steady_clock::time_point pinged_ = {};
  std::jthread thread_;
};

/// What the status page shows in addition to the fleet's status.
class RunStatus {
 public:
  void begin(const Setup& setup, const std::string& folder, std::uint32_t rounds_done) {
    const std::lock_guard lock(mutex_);
    const Configuration& configuration = setup.configuration;
    known_.version = build_info().version;
    known_.title = configuration.dataset + ", " + configuration.model + ", " + std::string(configuration.optimizer.name()) +
                   ", " + std::string(configuration.partition.name());
    known_.folder = folder;
    known_.rounds = static_cast<std::uint32_t>(configuration.rounds);
    known_.done = rounds_done;
    known_.state = "waiting for clients";
    seeded_ = configuration.randomness == Randomness::seeded;
    budgets_ = {setup.privacy.example ? setup.privacy.example->epsilon : 0,
                setup.privacy.client ? setup.privacy.client->epsilon : 0};
  }
  void add(const RoundRecord& record, std::size_t asked) {
    const std::lock_guard lock(mutex_);
    const auto failed = static_cast<std::size_t>(
        std::ranges::count_if(record.clients, [](const ClientReport& report) { return !report.failure.empty(); }));
    const std::size_t answered = record.clients.size() - failed;
    known_.done = record.round;
    known_.examples += record.totals.sums.examples;
    known_.points.push_back({.round = record.round,
                             .metric = record.metric,
                             .accuracy = record.test ? std::optional(record.test->accuracy) : std::nullopt,
                             .train_loss = record.totals.sums.loss,
                             .seconds = record.seconds,
                             .answered = static_cast<std::uint32_t>(answered),
                             .missing = static_cast<std::uint32_t>(std::max(asked, answered) - answered)});
    record.model_hash.copy(known_.points.back().model_hash.data(), known_.points.back().model_hash.size());
    known_.privacy.clear();
    const auto add = [&](const char* level, const std::optional<SpentSoFar>& spent, double budget) {
      if (spent) known_.privacy.push_back({level, spent->epsilon, spent->delta, budget, seeded_});
    };
    add("example", record.example_spent, budgets_.first);
    add("client", record.client_spent, budgets_.second);
  }
  void end(const std::string& state) {
    const std::lock_guard lock(mutex_);
    known_.state = state;
    ended_ = true;
  }
  FederationStatus status(const FleetStatus& fleet, double deadline, std::time_t certificate_expires) const {
    const std::lock_guard lock(mutex_);
    FederationStatus all = known_;
    all.seconds_running = seconds_since(since_);
    all.memory = memory_in_use();
    all.now = std::time(nullptr);
    all.certificate_expires = certificate_expires;
    all.deadline = deadline;
    all.seconds_in_round = fleet.seconds_in_round;
    all.received = fleet.received;
    all.sent = fleet.sent;
    all.refused = fleet.refused;
    all.clients = fleet.clients;
    const bool anybody = std::ranges::any_of(fleet.clients, &ClientStatus::connected);
    if (!ended_)
      all.state = fleet.round != 0 && (anybody || fleet.answered > 0) ? "round " + std::to_string(fleet.round)
                  : fleet.round != 0 || all.done == 0                 ? "waiting for clients"
                                                                      : "evaluating";
    return all;
  }

 private:
  mutable std::mutex mutex_;
  FederationStatus known_;
  std::pair<double, double> budgets_;
  bool seeded_ = true;
  bool ended_ = false;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// True if the folder contains a run. Throws Error (usage) if the run's settings differ from these in more than `rounds`.
bool continues_run(const Configuration& configuration) {
  std::error_code error;
  if (!fs::exists(fs::path(configuration.out) / "config.toml", error)) return false;
  const Configuration there = resolve(read_settings((fs::path(configuration.out) / "config.toml").string()));
  const auto lines = [](const Configuration& one) {
    Configuration lasting = with_absolute_paths(determining(one));
    lasting.rounds = Configuration().rounds;
    return write_settings(lasting, {});
  };
  const std::string before = lines(there), now = lines(configuration);
  if (before == now) return true;
  const auto old_lines = split(before, '\n'), new_lines = split(now, '\n');
  const auto [a, b] = std::ranges::mismatch(old_lines, new_lines);
  throw usage_error("out '" + configuration.out + "' has a run with different settings ('" +
                    (a == old_lines.end() ? std::string() : std::string(*a)) + "' there, '" +
                    (b == new_lines.end() ? std::string() : std::string(*b)) +
                    "' now); use the same settings to continue it, or choose another folder");
}

/// Raises the soft limit on descriptors, usually 1024, since each connection needs one. Throws Error (failure) if even the hard
/// limit is too low for a connection from each of these clients.
void raise_descriptor_limit(std::size_t clients) {
  constexpr std::size_t kOthers = 16;  // files, the listening socket, threads' events
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < clients + kOthers)
    throw failure("this process may have " + std::to_string(limit.rlim_max) + " open files, and a coordinator of " +
                  counted(clients, "client") + " needs " + std::to_string(clients + kOthers) +
                  "; raise the hard limit (ulimit -Hn)");
}

/// What a coordinator has beside its run: the fleet of its clients, the status page and the watched certificates. The page
/// outlives the run and then shows how it ended.
class Coordination {
 public:
  Coordination(const ServeOptions& options, const std::atomic<bool>* pause) : options_(options), pause_(pause) {
    read_certificates(files_);
    files_.denied = read_denied();
    watcher_.emplace(
        options, pause,
        Watcher::Calls{
            .read_again = [this] { read_again(); }, .ping = [this] { ping(); }, .expires = [this] { return expires_.load(); }});
  }

  std::shared_ptr<NetworkedFleet> make(const FleetTask& task) {
    const Setup& setup = task.setup;
    RoundTerms round_terms = options_.round;
    round_terms.survivors = task.folder / "survivors";  // set here because a resumed run's settings lack `out`
    round_terms.clients_evaluate = !setup.model.has_layers();
    std::unique_lock lock(mutex_);
    folder_ = task.folder;
    answered_ = std::chrono::steady_clock::now();
    auto made = std::make_shared<NetworkedFleet>(
        secured_terms(setup), reception(setup.clients.rows.size()), round_terms,
        [&setup](std::uint32_t round, const ClientReport& report, std::uint64_t releases, std::span<const double> told) {
          return check_report(setup, round, report, releases, told);
        },
        options_.log);
    made->stop_when(task.stop);
    if (options_.status)
      page_ = std::make_unique<StatusServer>(
          *options_.status, [this] { return status(); }, options_.status_token, [this] { return health(); });
    fleet_ = made;
    is_serving_ = true;
    lock.unlock();
    notify_service_manager("READY=1");
    if (options_.listening) options_.listening(made->port(), page_ ? std::optional(page_->port()) : std::nullopt);
    return made;
  }

  /// The run's observer, which also keeps the page up to date.
  RunObserver watching(const RunObserver& observer) {
    RunObserver both = observer;
    both.started = [this, observer](const Setup& setup, const std::string& folder, std::uint32_t done,
                                    const std::atomic<std::uint64_t>& examples) {
      run_.begin(setup, folder, done);
      if (observer.started) observer.started(setup, folder, done, examples);
    };
    both.round = [this, observer](const RoundRecord& record) {
      run_.add(record, fleet_->status().asked);
      if (observer.round) observer.round(record);
    };
    both.ended = [this, observer] {
      release_fleet();
      if (observer.ended) observer.ended();
    };
    return both;
  }

  void end(const std::string& state) {
    run_.end(state);
    release_fleet();
  }

 private:
  ReceptionRules reception(std::size_t clients) const {
    return {.listen = options_.listen,
            .transport = files_.transport,
            .authenticated = !options_.certificates.empty(),
            .accept_other_builds = options_.accept_other_builds,
            .denied = files_.denied,
            .heartbeat = std::chrono::milliseconds(static_cast<long>(options_.heartbeat * 1000)),
            .ready_within = std::chrono::milliseconds(static_cast<long>(options_.ready_within * 1000)),
            .connections = options_.connections > 0 ? static_cast<std::size_t>(options_.connections) : 2 * clients + 32,
            .updates_in_flight = static_cast<std::size_t>(options_.updates_in_flight)};
  }
  FederationTerms secured_terms(const Setup& setup) const {
    FederationTerms terms = terms_of(setup);
    if (terms.secure) terms.key_objection = files_.key_objection;
    return terms;
  }

  /// What is read when the coordinator starts, and again on request.
  struct Files {
    Transport transport = Transport::plain();
    FederationTerms::KeyObjection key_objection = {};
    DenyList denied = {};
  };
  void read_certificates(Files& files) {
    files.transport = transport_of(options_);
    if (options_.certificates.empty()) return;
    const TlsFiles paths = coordinator_files(options_.certificates);
    files.key_objection = [checker = std::make_shared<const KeyChecker>(paths)](ClientId client, const secagg::Bytes32& key,
                                                                                const std::string& proof) {
      return checker->objection(client, key, proof);
    };
    expires_ = expires_on(paths, kCoordinatorName);
  }
  DenyList read_denied() const { return options_.deny.empty() ? DenyList() : DenyList::read(options_.deny); }

  /// A fault in one file does not keep the other from being read.
  void read_again() {
    const std::lock_guard lock(mutex_);
    const auto attempt = [&](const std::filesystem::path& path, auto&& read) {
      if (path.empty()) return;
      try {
        read();
      } catch (const std::exception& error) {
        options_.log.warn(std::string(error.what()) + "; what was read before stays in force");
      }
    };
    attempt(options_.certificates, [&] {
      Files fresh = files_;
      read_certificates(fresh);
      files_ = std::move(fresh);
      if (fleet_) fleet_->renew(files_.transport, files_.key_objection);
      options_.log("read '" + options_.certificates.string() + "' again: new connections use its certificate");
    });
    attempt(options_.deny, [&] {
      files_.denied = read_denied();
      if (fleet_) fleet_->deny(files_.denied);
      options_.log("read '" + options_.deny.string() + "' again: " + counted(files_.denied.size(), "entry", "entries"));
    });
  }

  void ping() {
    const std::lock_guard lock(mutex_);
    if (fleet_) fleet_->ping();
    answered_ = std::chrono::steady_clock::now();
  }

  /// Takes no lock that is held while the network thread is waited for.
  Health health() const {
    const bool is_draining = pause_ != nullptr && pause_->load();
    return health_of(answered_,
                     std::chrono::milliseconds(static_cast<long>(options_.heartbeat * 1000)) * kMaxSilentBeats + kWatchdogEvery,
                     expires_, folder_ / "checkpoint",
                     !is_serving_  ? "ended"
                     : is_draining ? "draining"
                                   : "");
  }

  /// Before the run ends, since the fleet reads its setup.
  void release_fleet() {
    if (is_serving_.exchange(false)) notify_service_manager("STOPPING=1");
    const std::lock_guard lock(mutex_);
    if (fleet_ && pause_ != nullptr && pause_->load()) fleet_->pause();
    fleet_.reset();
  }
  FederationStatus status() {
    const std::lock_guard lock(mutex_);
    FederationStatus all = run_.status(fleet_ ? fleet_->status() : FleetStatus{}, options_.round.deadline, expires_);
    all.disk_free = free_bytes(folder_ / "checkpoint");
    return all;
  }

  const ServeOptions& options_;
  std::atomic<std::time_t> expires_{0};  ///< of the certificate, or of its authority if that is earlier; 0: no certificates
  Files files_;
  const std::atomic<bool>* pause_;
  fs::path folder_;  ///< the run's; set before there is a page
  std::atomic<bool> is_serving_{false};
  std::atomic<std::chrono::steady_clock::time_point> answered_{};  ///< when the network thread last did
  RunStatus run_;
  std::mutex mutex_;                       ///< guards files_ and fleet_
  std::shared_ptr<NetworkedFleet> fleet_;  ///< set only while the run lasts
  std::unique_ptr<StatusServer> page_;
  std::optional<Watcher> watcher_;
};

}  // namespace

Settings settings_to_serve(Settings settings) {
  const auto dp = settings.find("dp");
  const bool is_private = dp != settings.end() && dp->second.value != decltype(dp->second.value)(std::string("none"));
  if (is_private) settings.try_emplace("randomness", Setting{std::string("secret"), false});
  return settings;
}

RunSummary serve(const Configuration& configuration, const Settings& settings, const ServeOptions& options,
                 const RunObserver& observer) {
  check_rules(configuration, RuleScope::network);
  raise_descriptor_limit(static_cast<std::size_t>(configuration.clients));
  if (options.status) require_status_token(*options.status, options.status_token);
  Coordination coordination(options, observer.pause);
  const auto check = [](const Setup& setup) {
    require_reportable(setup);
    welcome_to(setup);
  };
  const FleetMaker make_fleet{[&](const FleetTask& task) { return coordination.make(task); }, RowsAre::with_clients, check, true,
                              false};
  const RunObserver both = coordination.watching(observer);
  try {
    RunSummary summary;
    if (continues_run(configuration)) {
      Settings overrides;
      for (const auto& [key, setting] : settings)
        if (may_change(shapes_of(key))) overrides.emplace(key, setting);
      summary = resume(configuration.out, overrides, both, make_fleet);
    } else {
      summary = run(configuration, settings, both, make_fleet);
    }
    coordination.end(summary.paused           ? "drained"
                     : summary.interrupted    ? "stopped"
                     : summary.halted.empty() ? "finished"
                                              : "halted: " + summary.halted);
    return summary;
  } catch (...) {
    coordination.end("failed");
    throw;
  }
}

}  // namespace fedstride
