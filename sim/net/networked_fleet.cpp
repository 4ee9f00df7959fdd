#include "sim/net/networked_fleet.hpp"

#include <algorithm>
#include <asio.hpp>
#include <cereal/types/vector.hpp>
#include <future>
#include <limits>
#include <map>
#include <optional>
#include <thread>

#include "client/report.hpp"
#include "client/told_evaluation.hpp"
#include "client/trainer.hpp"
#include "core/error.hpp"
#include "core/exact_sum.hpp"
#include "core/files.hpp"
#include "core/floating_point.hpp"
#include "core/hash.hpp"
#include "core/number_bytes.hpp"
#include "core/part_state.hpp"
#include "core/seconds_since.hpp"
#include "core/text.hpp"
#include "server/broadcast.hpp"
#include "server/secure_sum.hpp"
#include "sim/net/frame_bytes.hpp"
#include "sim/net/secure_round.hpp"
#include "sim/net/timer.hpp"

namespace fedstride {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kFinishPatience{5};
}  // namespace

struct NetworkedFleet::Impl {
  /// The current round.
  struct Round {
    Round(std::uint32_t round, std::string hash, Accumulator& into, std::size_t clients)
        : number(round), model_hash(std::move(hash)), updates(&into), state(clients, State::not_asked) {}
    enum class State : std::uint8_t { not_asked, waiting, answered };
    std::uint32_t number;
    std::string model_hash;
    Accumulator* updates;
    Frame model;                             // with changes, encoded from `message` when first sent
    ModelMessage message = {};               // packed; set only with changes
    std::vector<ModelChange> changes;        // Task::changes
    std::map<std::uint32_t, Frame> changed;  // keyed by the round whose model a client holds
    std::vector<State> state;                // indexed by client
    std::vector<std::uint64_t> releases;     // indexed by client; empty without example-level privacy
    std::vector<double> told;                // Task::told
    bool tests = false;                      // Task::tests
    double scale = 1;                        // Task::scale
    std::vector<std::uint64_t> reported;     // gradient examples reported by each client and already counted in progress
    std::size_t asked = 0;
    std::size_t answered = 0;
    bool overdue = false;
    SecureSum* secured = nullptr;  // under secure aggregation
    Clock::time_point since = Clock::now();
    std::promise<void> over;
  };

  /// A pending evaluation by a client.
  struct Test {
    std::uint32_t round = 0;
    std::string model_hash;
    ClientId client = 0;
    std::promise<std::optional<Evaluation>> over;
  };

  Impl(FederationTerms all_terms, const ReceptionRules& rules, const RoundTerms& round_terms, ReportCheck report_check,
       NetworkLog logs, std::atomic<std::uint64_t>& examples)
      : terms(std::move(all_terms)),
        round_rules(round_terms),
        check_report(std::move(report_check)),
        log(std::move(logs)),
        missed(terms.roster.size()),
        held(terms.roster.size()),
        keys(terms, terms.roster.size()),
        progress(examples),
        deadline(io),
        reception(io, terms, rules, log,
                  {.joined =
                       [this](ClientId client, const Ready& ready) {
                         if (!knows_key(client, ready)) return;
                         held[client] = ready.holds;
                         ask(client);
                       },
                   .update = [this](ClientId client, UpdateMessage message) { on_update(client, std::move(message)); },
                   .heartbeat = [this](ClientId client, std::uint64_t trained) { on_heartbeat(client, trained); },
                   .evaluation = [this](ClientId client, const EvaluationMessage& message) { on_evaluation(client, message); },
                   .secured = [this](ClientId client, std::uint32_t number, std::uint32_t attempt, std::uint32_t stage,
                                     const std::string& message) { on_secured(client, number, attempt, stage, message); },
                   .left = [this](ClientId client) { on_left(client); }}),
        thread([this] {
          const FloatingPointMode mode;
          // If a handler fails, for example for lack of memory, only its peer is affected.
          for (bool more = true; more;) {
            try {
              io.run();
              more = false;
            } catch (const std::exception& error) {
              log.warn(std::string("network: ") + error.what());
            }
          }
        }) {}

  ~Impl() {
    // The thread ends once all connections have closed, each within its own time limit.
    asio::post(io, [this] {
      reception.close();
      deadline.cancel();
      if (secure) secure->close();
    });
    work.reset();
    thread.join();
  }

  /// Runs `act` on the io thread and returns its result.
  auto on_io(auto act) {
    using Value = decltype(act());
    std::promise<Value> done;
    asio::post(io, [&] {
      try {
        if constexpr (std::is_void_v<Value>) {
          act();
          done.set_value();
        } else {
          done.set_value(act());
        }
      } catch (...) {
        done.set_exception(std::current_exception());
      }
    });
    return done.get_future().get();
  }

  void ask(ClientId client) {
    if (!round || round->state[client] != Round::State::waiting) return;
    reception.allow_update(client);
    const bool is_private = !round->releases.empty();
    const Frame train = encode(
        Train{round->number, round->model_hash, is_private, is_private ? round->releases[client] : 0, round->told, round->tests});
    for (const auto& [frame, kind] : {std::pair(model_for(client), FrameKind::model), std::pair(train, FrameKind::train)})
      if (reception.send(client, frame, kind)) bytes.downlink += frame->size();
    if (reception.is_ready(client)) held[client] = round->number;
  }

  /// Returns the round's model or, if shorter, the changes since the model that the client holds.
  Frame model_for(ClientId client) {
    const auto since = changes_since(round->changes, held[client], round->number, sizeof(float) * round->message.model.size());
    if (since.empty()) {
      if (!round->model) round->model = encode(round->message);
      return round->model;
    }
    Frame& frame = round->changed[held[client]];
    if (frame) return frame;
    ModelMessage message{round->number, round->model_hash, held[client]};
    for (const ModelChange& change : since) {
      put_number(message.changes, std::uint64_t{change.code.size()});
      message.changes += change.code;
    }
    return frame = encode(message);
  }

  // Counts the current round's examples as clients report them, up to 2^32 - 1 per client.
  void on_heartbeat(ClientId client, std::uint64_t examples) {
    if (!round || round->state[client] != Round::State::waiting) return;
    if (examples <= round->reported[client] || examples > std::numeric_limits<std::uint32_t>::max()) return;
    progress += examples - round->reported[client];
    round->reported[client] = examples;
  }

  void acknowledge(ClientId client, std::uint32_t number) {
    reception.send(client, encode(Received{number}), FrameKind::received);
  }

  void on_update(ClientId client, UpdateMessage message) {
    const std::string who = "client " + std::to_string(client);
    const std::uint32_t current = round ? round->number : last_round;
    // In an asynchronous run, clients count their own tasks, so a client may repeat a task unknown to a coordinator that was
    // killed and restarted.
    if (message.round > std::max(current, reception.last_round(client) + 1))
      return reception.dismiss(
          client,
          "it sent an update for round " + std::to_string(message.round) + "; the last round was " + std::to_string(current),
          false);
    if (!round || message.round != current || round->state[client] != Round::State::waiting) {
      // Updates of a stopped round are not reported as late.
      if (round || !is_stopped())
        log.warn(who + ": its update for round " + std::to_string(message.round) + " is late or a duplicate and was dropped");
      return acknowledge(client, message.round);
    }
    const std::string why = refusal(client, message);
    if (!why.empty()) return reception.dismiss(client, why, false);

    if (round->secured) return on_trained(client, message.report, message.diverged);
    const UpdateCoding& coding = terms.packings.update_coding;
    if (message.diverged) {
      message.report.failure = "it sent no update, because its training diverged or its own code failed";
    } else if (!coding.on()) {
      terms.packings.update.unpack(message.change);
    } else if (!coding.decode(message.code, message.round, client, message.change)) {
      return reception.dismiss(client,
                               "its compressed update does not decode to the " + counted(coding.size(), "entry", "entries") +
                                   " of an update with compress-up '" + std::string(coding.compression.name()) + "'",
                               false);
    }
    if (!message.diverged && !ExactSum::admits(view(std::as_const(message.change))))
      return reception.dismiss(client, "its update has entries that are infinite, NaN, or 2^22 or larger in magnitude", false);
    bytes.uplink += update_frame_bytes(message.diverged       ? 0
                                       : message.code.empty() ? sizeof(float) * terms.packings.update.size()
                                                              : message.code.size(),
                                       message.report.releases.size());
    try {
      const std::string remark =
          round->updates->add({message.report, view(std::as_const(message.change)), message.code}, round->scale);
      if (!remark.empty()) log.warn("round " + std::to_string(message.round) + ", " + who + ": " + remark);
    } catch (...) {
      return end_round(std::current_exception());
    }
    round->state[client] = Round::State::answered;
    ++round->answered;
    progress += message.report.examples;
    progress -= round->reported[client];
    reception.set_last_round(client, message.round);
    acknowledge(client, message.round);
    if (is_over()) end_round();
  }

  // --- secure aggregation ---

  /// Dismisses the client and returns false if its signing key is refused.
  bool knows_key(ClientId client, const Ready& ready) {
    const std::string why = terms.secure ? keys.objection(client, ready) : std::string();
    if (!why.empty()) reception.dismiss(client, why, true);
    return why.empty();
  }

  void begin_secure(const std::vector<ClientId>& cohort) {
    secure = std::make_unique<SecureRound>(
        io,
        SecureRound::Terms{.number = round->number,
                           .model_hash = round->model_hash,
                           .told = round->told,
                           .stage_deadline = round_rules.stage_deadline,
                           .survivors = round_rules.survivors},
        *round->secured, keys, reception, log,
        SecureRound::Calls{.is_over = [this] { return is_over(); },
                           .is_overdue = [this] { return round->overdue; },
                           .ask =
                               [this](ClientId client) {
                                 round->state[client] = Round::State::waiting;
                                 --round->answered;
                                 ask(client);
                               },
                           .end = [this](const auto& reports, const auto& missing) { end_secure(reports, missing); },
                           .count =
                               [this](std::uint64_t sent, std::uint64_t received) {
                                 bytes.downlink += sent;
                                 bytes.uplink += received;
                               }});
    const std::vector<ClientId> taking_part = secure->take_part(cohort);
    for (const ClientId client : cohort)
      if (!std::ranges::binary_search(taking_part, client)) round->state[client] = Round::State::not_asked;
    round->asked = taking_part.size();
  }

  void on_trained(ClientId client, ClientReport report, bool failed) {
    secure->trained(client, std::move(report), failed);
    round->state[client] = Round::State::answered;
    ++round->answered;
    reception.set_last_round(client, round->number);
    if (is_over()) conclude();
  }

  /// Called when no more updates are expected.
  void conclude() {
    if (!round->secured) return end_round();
    secure->begin();
  }

  void on_secured(ClientId client, std::uint32_t number, std::uint32_t attempt, std::uint32_t stage, const std::string& message) {
    if (round && round->secured && number == round->number) secure->take(client, attempt, stage, message);
  }

  void end_secure(const std::vector<ClientReport>& reports, const std::vector<ClientId>& missing) {
    for (const ClientId client : missing) round->state[client] = Round::State::waiting;
    for (const ClientReport& report : reports) {
      round->updates->add_report(report);
      if (round->secured->ended().empty()) acknowledge(report.client, round->number);
    }
    end_round();
  }

  // --- evaluation by a client ---

  /// Asks the first client that offers evaluation; returns false if none does.
  bool begin_evaluation(Test fresh, const Frame& model) {
    const std::vector<ClientId> clients = reception.evaluating();
    if (clients.empty()) return false;
    test = std::move(fresh);
    test->client = clients.front();
    reception.send(test->client, model, FrameKind::model);
    reception.send(test->client, encode(Evaluate{test->round, test->model_hash}), FrameKind::evaluate);
    return true;
  }

  void on_evaluation(ClientId client, const EvaluationMessage& message) {
    if (!test || test->client != client || message.round != test->round || message.model_hash != test->model_hash)
      return;  // too late
    Evaluation result;
    result.metric = terms.metric;
    result.examples = message.examples;
    result.loss = message.loss;
    result.accuracy = message.accuracy;
    result.is_told = true;
    if (const std::string why = impossible(result); !why.empty())
      return reception.dismiss(client, "its evaluation " + why, false);
    end_evaluation(result);
  }

  void on_left(ClientId client) {
    if (test && test->client == client) end_evaluation(std::nullopt);
    // Deferred, since the attempt may be in the middle of a call whose sending revealed the loss.
    if (round && round->secured)
      asio::post(io, [this, client, number = round->number] {
        if (round && round->secured && round->number == number) secure->lost(client);
      });
  }

  void end_evaluation(const std::optional<Evaluation>& result) {
    if (!test) return;
    std::promise<std::optional<Evaluation>> over = std::move(test->over);
    test.reset();
    over.set_value(result);
  }

  /// True if the round can close: all clients except denied ones have answered, or its deadline has passed with enough answers.
  bool is_over() const {
    if (round->answered == round->asked || (round->overdue && enough())) return true;
    std::size_t denied = 0;
    for (ClientId client = 0; client < round->state.size(); ++client)
      denied += round->state[client] == Round::State::waiting && reception.is_denied(client);
    return denied > 0 && (enough() || round->asked - denied < fewest()) && round->answered + denied == round->asked;
  }

  void deny(DenyList list) {
    reception.deny(std::move(list));
    if (round && is_over()) conclude();
  }

  /// Returns why an update for the current round is refused; empty if it is accepted.
  std::string refusal(ClientId client, const UpdateMessage& message) const {
    const ClientReport& report = message.report;
    if (message.model_hash != round->model_hash) return "its update is not based on the model it was sent";
    if (report.rows != terms.roster[client].rows)
      return "its report claims " + std::to_string(report.rows) + " rows; the client has " +
             std::to_string(terms.roster[client].rows);
    const auto size = static_cast<std::uint64_t>(message.change.size());
    if (message.diverged && size != 0)
      return "its update is marked as diverged but has " + std::to_string(size) + " entries; it must have none";
    if (round->secured) {
      if (size != 0 || !message.code.empty() || is_more_than_stripped(report))
        return "its update has numbers of its own; under secure aggregation, they may only enter the secure sum";
      if (std::string why = impossible(report); !why.empty()) return why;
      return check_report(message.round, report, round->releases.empty() ? 0 : round->releases[client], round->told);
    }
    const bool is_coded = terms.packings.update_coding.on();
    if ((message.diverged || !is_coded) && !message.code.empty())
      return "its update is " + std::string(message.diverged ? "marked as diverged" : "not to be compressed") +
             " but has a code of " + std::to_string(message.code.size()) + " bytes; it must have none";
    if (!message.diverged && is_coded) {
      if (size != 0)
        return "its update has " + std::to_string(size) + " entries in addition to its code; with compress-up '" +
               std::string(terms.packings.update_coding.compression.name()) + "' it must have none";
      if (message.code.size() > terms.packings.update_coding.most_bytes())
        return "its compressed update has " + std::to_string(message.code.size()) + " bytes; it can have at most " +
               std::to_string(terms.packings.update_coding.most_bytes());
    } else if (!message.diverged && size != terms.packings.update.size())
      return "its update has " + std::to_string(size) + " entries; in this experiment, it must have " +
             std::to_string(terms.packings.update.size());
    if (std::string why = impossible(report); !why.empty()) return why;
    return check_report(message.round, report, round->releases.empty() ? 0 : round->releases[client], round->told);
  }

  /// Returns the minimum number of answers needed to end the round.
  std::size_t fewest() const {
    const std::size_t secured = round->secured ? secure->fewest() : 0;
    return std::max(secured, std::min(round->asked, static_cast<std::size_t>(round_rules.minimum_clients)));
  }
  bool enough() const { return round->answered >= fewest(); }

  void begin_round(std::optional<Round> fresh, const std::vector<ClientId>& cohort) {
    round = std::move(fresh);
    for (const ClientId client : cohort) round->state[client] = Round::State::waiting;
    round->asked = last_asked = cohort.size();
    if (round->secured) begin_secure(cohort);
    round->reported.assign(round->state.size(), 0);
    last_round = round->number;
    bytes = {};
    if (cohort.empty()) return end_round();
    std::vector<ClientId> away;
    for (const ClientId client : cohort) {
      if (round->state[client] != Round::State::waiting) continue;
      if (!reception.is_ready(client)) away.push_back(client);
      ask(client);
    }
    if (!away.empty()) log("round " + std::to_string(round->number) + ": waiting for " + clients_text(away) + " to connect");
    if (round_rules.deadline <= 0) return;
    deadline.expires_after(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(round_rules.deadline)));
    deadline.async_wait([this, number = round->number](std::error_code error) {
      if (error || !round || round->number != number) return;
      round->overdue = true;
      if (round->secured && secure->is_attempting()) return;
      if (enough()) return conclude();
      log.warn("round " + std::to_string(number) + " is past its deadline with answers from " + std::to_string(round->answered) +
               " of " + counted(round->asked, "client") + "; it continues until " + std::to_string(fewest()) + " have answered");
    });
  }

  void end_round(const std::exception_ptr& error = nullptr) {
    deadline.cancel();
    if (secure) secure->close();
    std::vector<ClientId> missing;
    for (ClientId client = 0; client < round->state.size(); ++client)
      if (round->state[client] == Round::State::waiting) missing.push_back(client);
    absent = missing.size();
    for (const ClientId client : missing) {
      ++missed[client];
      progress -= round->reported[client];
    }
    if (!missing.empty() && !error)
      log.warn("round " + std::to_string(round->number) + " closed after " +
               number_text(round->overdue ? round_rules.deadline : std::round(seconds_since(round->since))) + " s without " +
               clients_text(missing));
    std::promise<void> over = std::move(round->over);
    round.reset();
    if (error)
      over.set_exception(error);
    else
      over.set_value();
  }

  FleetStatus status() {
    FleetStatus all{.clients = reception.status(),
                    .received = reception.bytes_received(),
                    .sent = reception.bytes_sent(),
                    .refused = reception.refused()};
    all.asked = last_asked;
    for (ClientStatus& client : all.clients) client.missed = missed[client.client];
    if (!round) return all;
    all.round = round->number;
    all.answered = round->answered;
    all.seconds_in_round = seconds_since(round->since);
    for (ClientStatus& client : all.clients) {
      client.in_cohort = round->state[client.client] != Round::State::not_asked;
      client.answered = round->state[client.client] == Round::State::answered;
      if (client.in_cohort && !client.answered) client.seconds_waiting = all.seconds_in_round;
    }
    return all;
  }

  FederationTerms terms;
  RoundTerms round_rules;
  ReportCheck check_report;
  NetworkLog log;
  std::vector<std::uint64_t> missed;  // indexed by client
  std::vector<std::uint32_t> held;    // the round whose model each client holds; 0: none
  SigningKeys keys;
  RoundBytes bytes = {};                 // of the current or last round
  std::atomic<std::uint64_t>& progress;  // the fleet's
  const std::atomic<bool>* stop = nullptr;
  bool is_stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
  std::optional<Round> round;  // this and all members below: used only by the io thread
  std::optional<Test> test;
  std::uint32_t last_round = 0;
  std::size_t last_asked = 0;
  std::size_t absent = 0;  // in the last round
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  asio::steady_timer deadline;
  Reception reception;
  std::unique_ptr<SecureRound> secure;  // of the current or last round; null without secure aggregation
  std::thread thread;
};

NetworkedFleet::NetworkedFleet(FederationTerms terms, const ReceptionRules& rules, const RoundTerms& round, ReportCheck check,
                               NetworkLog log)
    : impl_(std::make_unique<Impl>(std::move(terms), rules, round, std::move(check), std::move(log), progress_)) {}

NetworkedFleet::~NetworkedFleet() = default;

void NetworkedFleet::collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) {
  std::optional<Impl::Round> round(std::in_place, task.round, std::string(), updates, impl_->terms.roster.size());
  ModelMessage message{.round = task.round, .model_hash = {}, .model = task.model};
  message.model.append(task.beside);
  message.model_hash = round->model_hash = model_hash(message.model);
  impl_->terms.packings.model.pack(message.model);
  round->changes.assign(task.changes.begin(), task.changes.end());
  if (round->changes.empty())
    round->model = encode(message);
  else
    round->message = std::move(message);
  round->releases.assign(task.releases.begin(), task.releases.end());
  round->told.assign(task.told.begin(), task.told.end());
  round->tests = task.tests;
  round->scale = task.scale;
  round->secured = updates.secured();
  std::future<void> over = round->over.get_future();
  if (impl_->is_stopped()) throw Interrupted{};
  impl_->on_io([&] { impl_->begin_round(std::move(round), cohort); });
  constexpr std::chrono::milliseconds kPollInterval{50};
  while (over.wait_for(kPollInterval) != std::future_status::ready) {
    if (!impl_->is_stopped()) continue;
    impl_->on_io([&] {
      if (impl_->round) impl_->end_round(std::make_exception_ptr(Interrupted{}));
    });
  }
  over.get();
}

std::optional<Evaluation> NetworkedFleet::test_by_client(const Vector& model) {
  constexpr double kLongest = 600;
  constexpr std::chrono::milliseconds kPollInterval{50};
  const std::uint32_t round = impl_->on_io([&] { return impl_->last_round; });
  ModelMessage message{.round = round, .model_hash = {}, .model = model};
  message.model.resize(impl_->terms.packings.model.spread_size());
  message.model_hash = model_hash(message.model);
  Impl::Test test{round, message.model_hash, 0, {}};
  impl_->terms.packings.model.pack(message.model);
  const Frame frame = encode(message);
  std::future<std::optional<Evaluation>> over = test.over.get_future();
  if (!impl_->on_io([&] { return impl_->begin_evaluation(std::move(test), frame); })) return std::nullopt;
  const double longest = impl_->round_rules.deadline > 0 ? impl_->round_rules.deadline : kLongest;
  const auto begin = Clock::now();
  while (over.wait_for(kPollInterval) != std::future_status::ready) {
    const bool stopped = impl_->is_stopped();
    if (!stopped && seconds_since(begin) < longest) continue;
    impl_->on_io([&] { impl_->end_evaluation(std::nullopt); });
  }
  return over.get();
}

std::optional<Evaluation> NetworkedFleet::evaluate(const Vector& model, EvaluatedOn /*examples*/) {
  if (!impl_->round_rules.clients_evaluate) return std::nullopt;
  Evaluation told = test_by_client(model).value_or(Evaluation::unknown());
  told.is_told = true;
  return told;
}

std::string NetworkedFleet::save() {
  return impl_->on_io([this] {
    std::vector<std::uint32_t> rounds;
    for (ClientId client = 0; client < impl_->terms.roster.size(); ++client)
      rounds.push_back(impl_->reception.last_round(client));
    return state_bytes([&](std::ostream& stream) { write_archive(stream, rounds); });
  });
}

void NetworkedFleet::load(const std::string& bytes) {
  std::vector<std::uint32_t> rounds;
  try {
    load_state(bytes, "the network", std::nullopt, [&](std::istream& stream) { read_archive(stream, rounds); });
  } catch (const Error&) {
    rounds.clear();
  }
  if (rounds.size() != impl_->terms.roster.size())
    throw failure("the checkpoint is not from a networked run with " + counted(impl_->terms.roster.size(), "client") +
                  "; resume a run the way it was started");
  impl_->on_io([&] {
    for (ClientId client = 0; client < rounds.size(); ++client) impl_->reception.set_last_round(client, rounds[client]);
  });
}

std::uint64_t NetworkedFleet::absent() {
  return impl_->on_io([&] { return impl_->absent; });
}

std::optional<RoundBytes> NetworkedFleet::bytes() {
  return impl_->on_io([&] { return impl_->bytes; });
}

void NetworkedFleet::stop_when(const std::atomic<bool>* stop) { impl_->stop = stop; }

void NetworkedFleet::finish(std::uint32_t rounds, const std::string& model_hash) {
  impl_->on_io([&] { impl_->reception.send_last(encode(Finished{rounds, model_hash})); });
  // Disconnected clients reconnect within one pause; without this wait, they would keep trying to reach a coordinator that has
  // exited.
  const auto until = Clock::now() + kFinishPatience;
  while (Clock::now() < until && !impl_->on_io([&] { return impl_->reception.all_sent_last(); }))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  impl_->on_io([&] { impl_->reception.close(); });
}

void NetworkedFleet::deny(DenyList list) {
  impl_->on_io([&] { impl_->deny(std::move(list)); });
}

void NetworkedFleet::renew(Transport transport, FederationTerms::KeyObjection key_objection) {
  impl_->on_io([&] {
    impl_->terms.key_objection = std::move(key_objection);
    impl_->reception.renew(std::move(transport));
  });
}

void NetworkedFleet::ping() const {
  impl_->on_io([] {});
}

void NetworkedFleet::pause() {
  impl_->on_io([&] { impl_->reception.close("the coordinator was drained and will continue later"); });
}

std::uint16_t NetworkedFleet::port() const { return impl_->reception.port(); }

FleetStatus NetworkedFleet::status() const {
  return impl_->on_io([this] { return impl_->status(); });
}

}  // namespace fedstride
