#include "sim/net/member.hpp"

#include <algorithm>
#include <asio.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "client/trainer.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/number_bytes.hpp"
#include "sim/net/service_manager.hpp"
#include "sim/net/timer.hpp"

namespace fedstride {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{200};
constexpr milliseconds kMaxPause{10000};
constexpr milliseconds kFirstCallTime{10000};
constexpr milliseconds kMaxCallTime{60000};

/// The network side of a client, on its own thread; the thread that calls work() trains.
class Member {
 public:
  Member(const MemberRules& rules, const MemberWork& work, const NetworkLog& log, const std::atomic<bool>* stop)
      : rules_(rules), work_(work), log_(log), stop_(stop), timer_(io_), beat_(io_), stop_timer_(io_) {
    asio::post(io_, [this] {
      dial();
      poll_stop();
    });
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Member() {
    asio::post(io_, [this] {
      over_ = true;
      timer_.cancel();
      beat_.cancel();
      stop_timer_.cancel();
      if (connection_) connection_->end({}, true);
    });
    guard_.reset();
    thread_.join();
  }

  MemberOutcome work() {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return done_ || !jobs_.empty(); });
        if (done_) break;
        job = std::move(jobs_.extract(jobs_.begin()).mapped());
        abandon_ = false;
      }
      try {
        job();
      } catch (const Interrupted&) {
      } catch (const std::exception& error) {
        // Details of this client's files and data stay here; the coordinator learns only that the client has left.
        asio::post(io_, [this] { leave("it cannot continue; see its own log"); });
        throw;
      }
    }
    if (failure_) throw Error(*failure_);
    return result_;
  }

 private:
  /// Jobs in order of priority.
  enum class Job { prepare, train, secure, test };

  // --- the working thread ---

  void prepare(const Welcome& welcome) {
    Ready ready = work_.prepare(welcome, working_packings_);
    asio::post(io_, [this, ready = std::move(ready), packings = working_packings_, experiment = welcome.experiment] {
      ready_ = ready;
      packings_ = packings;
      prepared_ = experiment;
      send_ready();
    });
  }

  void train(const ModelMessage& model, const Train& asked) {
    examples_ = 0;
    UpdateMessage update = work_.train(model, asked, examples_, abandon_);
    if (!update.change.empty()) working_packings_.update.pack(update.change);
    asio::post(io_, [this, frame = encode(update), asked] {
      answer_ = frame;
      answered_ = asked;
      ++outcome_.answered;
      if (stage_ == Stage::serving && requested_ && same(*requested_, asked)) connection_->send(answer_, FrameKind::update);
    });
  }

  void secure(const SecureMessage& asked, const std::weak_ptr<Connection>& by) {
    std::pair<Frame, FrameKind> answer;
    try {
      answer = work_.secure(asked);
    } catch (const Error& error) {
      // The coordinator receives the objection, so that its operators can read it.
      asio::post(io_, [this, why = std::string(error.what())] { leave(why); });
      throw;
    }
    if (!answer.first) return;
    asio::post(io_, [this, answer, by] {
      if (stage_ == Stage::serving && connection_ && by.lock() == connection_) connection_->send(answer.first, answer.second);
    });
  }

  void evaluate(const ModelMessage& model, std::uint32_t round) {
    if (!work_.evaluate) return;
    asio::post(io_, [this, frame = encode(work_.evaluate(model, round))] {
      if (stage_ == Stage::serving && connection_) connection_->send(frame, FrameKind::evaluation);
    });
  }

  // --- the io thread ---

  enum class Stage { disconnected, welcome, ready, serving };

  static bool same(const Train& a, const Train& b) {
    return a.round == b.round && a.model_hash == b.model_hash && a.told == b.told;
  }

  void finish(const std::optional<Error>& failure) {
    if (over_) return;
    over_ = true;
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    result_ = outcome_;
    done_ = true;
    abandon_ = true;
    wake_.notify_all();
  }

  void leave(const std::string& reason) {
    over_ = true;
    if (!connection_ || has_left_) return;
    has_left_ = true;
    connection_->send(encode(Refused{reason, true}), FrameKind::refused);
    connection_->end({}, true);
  }

  // Signals only set a flag, which is polled here.
  void poll_stop() {
    if (over_) return;
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) return finish(std::nullopt);
    tell_state();
    after(stop_timer_, milliseconds(50), [this] { poll_stop(); });
  }

  void tell_state() {
    const auto now = Clock::now();
    if (now - watched_ > kWatchdogEvery) {
      notify_service_manager("WATCHDOG=1");
      watched_ = now;
    }
    if (rules_.state == nullptr) return;
    rules_.state->ran = now;
    rules_.state->joined = stage_ == Stage::serving;
    rules_.state->served = last_served_;
  }

  void dial() {
    if (over_) return;
    const auto called = Clock::now();
    connect(io_, rules_.connect, rules_.transport, call_time_,
            [this, called](ConnectionPtr connection, const std::string& reason) {
              if (over_) {
                if (connection) connection->end({}, false);
                return;
              }
              if (!connection) {
                // The call was probably queued; giving up just as early next time would only lose its place again.
                if (Clock::now() - called >= call_time_) call_time_ = std::min(call_time_ * 2, kMaxCallTime);
                return dial_later(rules_.connect.text() + ": " + reason);
              }
              if (rules_.authenticated && connection->peer_name() != kCoordinatorName) {
                connection->end({}, false);
                return finish(refused_for_good("the certificate at " + rules_.connect.text() + " is for '" +
                                               connection->peer_name() + "', not for '" + std::string(kCoordinatorName) + "'"));
              }
              begin(std::move(connection));
            });
  }

  void dial_later(const std::string& reason) {
    stage_ = Stage::disconnected;
    if (over_) return;
    const double away = std::chrono::duration<double>(Clock::now() - last_served_).count();
    if (rules_.patience > 0 && away > rules_.patience)
      return finish(temporary("no coordinator was reached for " + std::to_string(static_cast<long>(away)) +
                              " s; the last attempt, at " + reason));
    if (reason != last_reason_) log_.warn(reason + "; trying again");
    last_reason_ = reason;
    const double jitter = std::uniform_real_distribution<double>(0.5, 1.5)(jitter_);
    after(timer_, std::chrono::duration_cast<Clock::duration>(pause_ * jitter), [this] { dial(); });
    pause_ = std::min<milliseconds>(pause_ * 8 / 5, kMaxPause);
  }

  void begin(ConnectionPtr connection) {
    connection_ = std::move(connection);
    stage_ = Stage::welcome;
    model_ = nullptr;
    requested_.reset();
    connection_->set_silence(kFirstCallTime * 2);
    connection_->start({.admit = [this](const FrameHeader& header) { return admit(header); },
                        .received = [this](FrameKind kind, std::string body) { received(kind, body); },
                        .ended =
                            [this](const std::string& reason) {
                              beat_.cancel();
                              const ConnectionPtr ended = std::exchange(connection_, nullptr);
                              const std::string why = rules_.connect.text() + ": " + reason;
                              // Said twice running; once, it may be a header damaged in transit.
                              if (ended && ended->speaks_another_version() && why == last_reason_)
                                return finish(refused_for_good(why));
                              if (stage_ == Stage::serving) last_served_ = Clock::now();
                              dial_later(why);
                            }});
    if (connection_) connection_->send(encode(Hello{rules_.client, build_identity()}), FrameKind::hello);
  }

  Connection::Verdict admit(const FrameHeader& header) {
    const bool of_a_round = header.kind == FrameKind::model || header.kind == FrameKind::train ||
                            header.kind == FrameKind::received || header.kind == FrameKind::finished ||
                            header.kind == FrameKind::evaluate || header.kind == FrameKind::secure;
    const bool expected = header.kind == FrameKind::welcome   ? stage_ == Stage::welcome
                          : header.kind == FrameKind::refused ? true
                          : of_a_round                        ? stage_ == Stage::serving
                                                              : header.kind == FrameKind::heartbeat;
    const auto most = largest_body(header.kind, packings_.model.size());
    if (expected && header.length <= most) return Connection::Verdict::read;
    connection_->end(expected ? "its '" + std::string(frame_name(header.kind)) + "' frame claims " +
                                    std::to_string(header.length) + " bytes; at most " + std::to_string(most) + " are accepted"
                              : "unexpected '" + std::string(frame_name(header.kind)) + "' frame",
                     true);
    return Connection::Verdict::refuse;
  }

  void received(FrameKind kind, const std::string& body) {
    const auto with = [&]<class Message>(Result<Message> message, auto&& act) {
      if (message)
        act(*message);
      else if (connection_)
        connection_->end(message.reason(), true);
    };
    switch (kind) {
      case FrameKind::welcome:
        return with(decode<Welcome>(body), [&](Welcome& message) { welcome(std::move(message)); });
      case FrameKind::model:
        return with(decode<ModelMessage>(body), [&](ModelMessage& message) {
          if (!complete(message) || message.model_hash != model_hash(message.model))
            return connection_->end("the model it sent does not match the hash it gave", true);
          model_ = std::make_shared<const ModelMessage>(std::move(message));
        });
      case FrameKind::train:
        return with(decode<Train>(body), [&](const Train& message) { on_train(message); });
      case FrameKind::secure:
        return with(decode<SecureMessage>(body), [&](SecureMessage& message) {
          if (!work_.secure) return connection_->end("it asked for secure aggregation, which this client does not support", true);
          last_served_ = Clock::now();
          const std::lock_guard lock(mutex_);
          schedule(Job::secure, [this, message = std::move(message), by = std::weak_ptr(connection_)] { secure(message, by); });
        });
      case FrameKind::evaluate:
        return with(decode<Evaluate>(body), [&](const Evaluate& message) {
          if (!model_ || model_->round != message.round || model_->model_hash != message.model_hash)
            return connection_->end("it asked to evaluate a model it has not sent", true);
          last_served_ = Clock::now();
          const std::lock_guard lock(mutex_);
          schedule(Job::test, [this, model = model_, round = message.round] { evaluate(*model, round); });
        });
      case FrameKind::refused:
        return with(decode<Refused>(body), [&](const Refused& message) {
          if (message.for_good) finish(refused_for_good("refused by the coordinator: " + message.reason));
          connection_->end("refused: " + message.reason, false);
        });
      case FrameKind::finished:
        return with(decode<Finished>(body), [&](const Finished& message) {
          outcome_.finished = true;
          outcome_.rounds = message.rounds;
          outcome_.model_hash = message.model_hash;
          finish(std::nullopt);
          connection_->end({}, true);
        });
      default:
        return;
    }
  }

  /// Completes the message's model: unpacks a whole model, or applies the changes to the model held here. Returns false if
  /// neither is possible.
  bool complete(ModelMessage& message) const {
    if (message.base == 0) {
      if (!message.changes.empty() || message.model.size() != packings_.model.size()) return false;
      packings_.model.unpack(message.model);
      return true;
    }
    if (!packings_.model_coding.on() || !held_ || held_->round != message.base || !message.model.empty() ||
        message.round <= message.base)
      return false;
    message.model = held_->model;
    std::string_view changes = message.changes;
    for (std::uint32_t round = message.base + 1; round <= message.round; ++round) {
      if (changes.size() < sizeof(std::uint64_t)) return false;
      const auto length = take_number<std::uint64_t>(changes);
      if (length > changes.size()) return false;
      if (!packings_.model_coding.apply(changes.substr(0, length), round, message.model)) return false;
      changes.remove_prefix(length);
    }
    message.changes.clear();
    return changes.empty();
  }

  void welcome(Welcome message) {
    const std::string other = difference(build_identity(), message.build);
    if (!other.empty() && !rules_.accept_other_builds) {
      const std::string why = "the coordinator's build differs, so results would not be bit-identical: " + other +
                              "; to continue anyway, pass --accept-other-builds to serve and join";
      finish(refused_for_good(why));
      return leave(why);
    }
    if (!other.empty()) log_.warn("the coordinator has a different build: " + other);
    stage_ = Stage::ready;
    heartbeat_ = milliseconds(std::clamp<std::uint32_t>(message.heartbeat_ms, 100, 600000));
    connection_->set_silence(heartbeat_ * kMaxSilentBeats);
    beat();
    if (prepared_ == message.experiment) return send_ready();
    const std::lock_guard lock(mutex_);
    prepared_.clear();
    held_ = nullptr;
    jobs_.clear();
    schedule(Job::prepare, [this, message = std::move(message)] { prepare(message); });
  }

  /// The caller must hold the mutex.
  void schedule(Job job, std::function<void()> work) {
    jobs_[job] = std::move(work);
    wake_.notify_all();
  }

  void beat() {
    if (over_ || !connection_) return;
    connection_->send(encode(Heartbeat{examples_}), FrameKind::heartbeat);
    after(beat_, heartbeat_, [this] { beat(); });
  }

  void send_ready() {
    if (stage_ != Stage::ready || !connection_) return;
    ready_.last_round = work_.last_round();
    ready_.holds = held_ ? held_->round : 0;
    connection_->send(encode(ready_), FrameKind::ready);
    stage_ = Stage::serving;
    last_served_ = Clock::now();
    pause_ = kFirstPause;
    call_time_ = kFirstCallTime;
    last_reason_.clear();
    log_("joined " + rules_.connect.text() + " as client " + std::to_string(rules_.client));
  }

  void on_train(const Train& train) {
    last_served_ = Clock::now();
    if (!model_ || model_->round != train.round || model_->model_hash != train.model_hash)
      return connection_->end("it asked to train a model it has not sent", true);
    requested_ = train;
    if (packings_.model_coding.on()) held_ = model_;
    if (answer_ && answered_ && same(*answered_, train)) return connection_->send(answer_, FrameKind::update);
    const std::lock_guard lock(mutex_);
    if (current_ && same(*current_, train)) return;  // requested before the connection broke; the work continues
    current_ = train;
    abandon_ = true;
    jobs_.erase(Job::secure);
    schedule(Job::train, [this, model = model_, asked = train] { this->train(*model, asked); });
  }

  const MemberRules& rules_;
  const MemberWork& work_;
  const NetworkLog& log_;
  const std::atomic<bool>* stop_;

  std::mutex mutex_;  // guards the data shared by the two threads
  std::condition_variable wake_;
  std::map<Job, std::function<void()>> jobs_;
  std::optional<Train> current_;
  bool done_ = false;
  std::optional<Error> failure_;
  MemberOutcome result_;
  std::atomic<bool> abandon_{false};
  std::atomic<std::uint64_t> examples_{0};
  Packings working_packings_;  // used only by the working thread

  asio::io_context io_{1};  // this and all below: used only by the io thread
  asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  asio::steady_timer timer_, beat_, stop_timer_;
  MemberOutcome outcome_;
  ConnectionPtr connection_;
  Stage stage_ = Stage::disconnected;
  bool over_ = false;
  bool has_left_ = false;
  milliseconds heartbeat_{5000};
  milliseconds pause_ = kFirstPause;
  milliseconds call_time_ = kFirstCallTime;
  std::string last_reason_;
  Clock::time_point last_served_ = Clock::now();
  Clock::time_point watched_ = {};
  std::minstd_rand jitter_{std::random_device{}()};  // only for the lengths of pauses
  std::string prepared_;
  Ready ready_;
  Packings packings_;
  std::shared_ptr<const ModelMessage> model_;
  std::shared_ptr<const ModelMessage> held_;  // the last model to train, to which changes apply
  std::optional<Train> requested_;
  std::optional<Train> answered_;
  Frame answer_;
  std::thread thread_;
};

}  // namespace

MemberOutcome take_part(const MemberRules& rules, const MemberWork& work, const NetworkLog& log, const std::atomic<bool>* stop) {
  Member member(rules, work, log, stop);
  return member.work();
}

}  // namespace fedstride
