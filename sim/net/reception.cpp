#include "sim/net/reception.hpp"

#include <algorithm>
#include <asio.hpp>

#include "core/seconds_since.hpp"
#include "core/text.hpp"
#include "sim/net/timer.hpp"

namespace fedstride {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMaxFirstBytes = 64 * 1024;     // for hello and ready, with a margin
constexpr std::uint64_t kMaxBytesPerSecond = 4 * 1024;  // for heartbeats, with a margin
constexpr std::size_t kMaxPerCertificate = 2;           // one connection in use and one to replace it
constexpr std::chrono::milliseconds kHelloWithin{10000};
constexpr std::uint32_t kInputStage = 3;  // has its own frame kind

bool is_of_attempt(FrameKind kind) { return kind == FrameKind::secured || kind == FrameKind::masked; }

}  // namespace

struct Reception::Peer {
  enum class Stage { hello, ready, serving };
  ConnectionPtr connection;
  Stage stage = Stage::hello;
  ClientId client = 0;  // valid from stage `ready`
  bool holds_slot = false;
  bool evaluates = false;
  std::uint64_t granted = kMaxFirstBytes;
  Clock::time_point since = Clock::now();
  Clock::time_point welcomed = {};
};

struct Reception::Beat {
  explicit Beat(asio::io_context& io) : timer(io) {}
  asio::steady_timer timer;
  Frame frame = encode(Heartbeat{});
};

Reception::Reception(asio::io_context& io, const FederationTerms& terms, const ReceptionRules& rules, NetworkLog log,
                     Events events)
    : terms_(terms),
      rules_(rules),
      log_(std::move(log)),
      events_(std::move(events)),
      beat_(std::make_unique<Beat>(io)),
      ready_(terms.roster.size()),
      slots_(std::max<std::size_t>(rules.updates_in_flight, 1)),
      status_(terms.roster.size()),
      seen_(terms.roster.size()),
      sent_last_(terms.roster.size()) {
  for (std::size_t client = 0; client < status_.size(); ++client) status_[client].client = static_cast<ClientId>(client);
  listener_ = std::make_unique<Listener>(
      io, rules.listen, rules.transport, Listener::Limits{.connections = rules.connections},
      Listener::Handlers{[this](ConnectionPtr connection) { accepted(std::move(connection)); },
                         [this](const std::string& address, const std::string& reason, std::uint64_t connections) {
                           refused_ += connections;
                           log_.warn("refused " + address + ": " + reason);
                         }});
  beat();
}

Reception::~Reception() {
  closing_ = true;
  beat_->timer.cancel();
  listener_->close();
  for (const PeerPtr& peer : std::list(peers_)) peer->connection->end({}, false);
}

std::string Reception::name(const Peer& peer) const {
  const std::string& address = peer.connection->address();
  return peer.stage == Peer::Stage::hello ? address : "client " + std::to_string(peer.client) + " (" + address + ")";
}

void Reception::beat() {
  if (closing_) return;  // the timer may have expired before it was canceled
  refuse_slow_peers();
  for (const PeerPtr& peer : std::list(peers_))
    if (peer->stage != Peer::Stage::hello) peer->connection->send(beat_->frame, FrameKind::heartbeat);
  after(beat_->timer, rules_.heartbeat, [this] { beat(); });
}

void Reception::evict_for(const std::string& certificate) {
  PeerPtr oldest;
  std::size_t held = 0;
  for (const PeerPtr& peer : peers_) {
    if (peer->connection->peer_name() != certificate) continue;
    ++held;
    if (!oldest && peer->stage != Peer::Stage::serving) oldest = peer;
  }
  // The connection ends without a flush: sending the reason to an idle peer would occupy its slot until the send times out.
  if (held >= kMaxPerCertificate && oldest)
    oldest->connection->end("replaced by a newer connection with the certificate of '" + certificate + "'; at most " +
                                std::to_string(kMaxPerCertificate) + " are allowed",
                            false);
}

void Reception::refuse_slow_peers() {
  const auto seconds = [](auto time) { return number_text(std::chrono::duration<double>(time).count()) + " s"; };
  for (const PeerPtr& peer : std::list(peers_)) {
    if (peer->stage == Peer::Stage::hello && Clock::now() - peer->since > kHelloWithin)
      refuse(peer, "it did not identify itself within " + seconds(kHelloWithin), false);
    else if (peer->stage == Peer::Stage::ready && Clock::now() - peer->welcomed > rules_.ready_within)
      refuse(peer,
             "it was not ready within " + seconds(rules_.ready_within) + " of its welcome; serve's --ready-within allows more",
             false);
  }
}

void Reception::accepted(ConnectionPtr connection) {
  if (rules_.authenticated) evict_for(connection->peer_name());
  auto peer = std::make_shared<Peer>();
  peer->connection = std::move(connection);
  peers_.push_back(peer);
  peer->connection->set_silence(rules_.heartbeat * kMaxSilentBeats);
  peer->connection->start({.admit = [this, peer](const FrameHeader& header) { return admit(peer, header); },
                           .received = [this, peer](FrameKind kind, std::string body) { received(peer, kind, body); },
                           .ended = [this, peer](const std::string& reason) { ended(peer, reason); }});
}

Connection::Verdict Reception::admit(const PeerPtr& peer, const FrameHeader& header) {
  using Stage = Peer::Stage;
  const std::string kind(frame_name(header.kind));
  const bool expected = header.kind == FrameKind::heartbeat ? peer->stage != Stage::hello
                        : header.kind == FrameKind::hello   ? peer->stage == Stage::hello
                        : header.kind == FrameKind::ready   ? peer->stage == Stage::ready
                        : header.kind == FrameKind::update || header.kind == FrameKind::evaluation || is_of_attempt(header.kind)
                            ? peer->stage == Stage::serving
                            : header.kind == FrameKind::refused;
  if (!expected) {
    refuse(peer, "unexpected '" + kind + "' frame", false);
    return Connection::Verdict::refuse;
  }
  const Packing& update = terms_.packings.update;
  const std::size_t numbers = header.kind == FrameKind::masked ? update.spread_size() : update.size();
  if (const auto most = largest_body(header.kind, numbers); header.length > most) {
    refuse(peer,
           "its '" + kind + "' frame claims " + std::to_string(header.length) + " bytes; at most " + std::to_string(most) +
               " are accepted",
           false);
    return Connection::Verdict::refuse;
  }
  const double seconds = seconds_since(peer->since);
  const std::uint64_t granted = peer->granted + static_cast<std::uint64_t>(seconds * static_cast<double>(kMaxBytesPerSecond));
  if (peer->connection->bytes_received() + header.length > granted) {
    refuse(peer, "it sent more than the " + std::to_string(granted) + " bytes it is allowed", false);
    return Connection::Verdict::refuse;
  }
  if (header.kind != FrameKind::update && header.kind != FrameKind::masked) return Connection::Verdict::read;
  if (slots_ == 0) {
    waiting_for_slot_.push_back(peer);
    return Connection::Verdict::wait;
  }
  take_slot(peer);
  return Connection::Verdict::read;
}

void Reception::take_slot(const PeerPtr& peer) {
  peer->holds_slot = true;
  --slots_;
}

void Reception::release_slot(const PeerPtr& peer) {
  if (!peer->holds_slot) return;
  peer->holds_slot = false;
  ++slots_;
  if (waiting_for_slot_.empty()) return;
  const PeerPtr next = waiting_for_slot_.front();
  waiting_for_slot_.pop_front();
  take_slot(next);
  next->connection->read_on();
}

void Reception::received(const PeerPtr& peer, FrameKind kind, const std::string& body) {
  const auto with = [&]<class Message>(Result<Message> message, auto&& act) {
    if (message)
      act(*message);
    else
      refuse(peer, message.reason(), false);
  };
  switch (kind) {
    case FrameKind::hello:
      return with(decode<Hello>(body), [&](const Hello& message) { hello(peer, message); });
    case FrameKind::ready:
      return with(decode<Ready>(body), [&](const Ready& message) { ready(peer, message); });
    case FrameKind::update:
      with(decode<UpdateMessage>(body), [&](UpdateMessage& message) {
        if (message.report.client != peer->client)
          return refuse(peer, "it sent an update for client " + std::to_string(message.report.client), false);
        events_.update(peer->client, std::move(message));
      });
      return release_slot(peer);
    case FrameKind::secured:
      return with(decode<SecuredMessage>(body), [&](const SecuredMessage& message) {
        events_.secured(peer->client, message.round, message.attempt, message.stage, message.message);
      });
    case FrameKind::masked:
      with(decode<MaskedMessage>(body), [&](const MaskedMessage& message) {
        events_.secured(peer->client, message.round, message.attempt, kInputStage, message.message);
      });
      return release_slot(peer);
    case FrameKind::evaluation:
      return with(decode<EvaluationMessage>(body),
                  [&](const EvaluationMessage& message) { events_.evaluation(peer->client, message); });
    case FrameKind::heartbeat:
      return with(decode<Heartbeat>(body), [&](const Heartbeat& message) {
        if (peer->stage == Peer::Stage::serving) events_.heartbeat(peer->client, message.examples);
      });
    case FrameKind::refused:
      return with(decode<Refused>(body),
                  [&](const Refused& message) { peer->connection->end("it left: " + message.reason, false); });
    default:
      return;
  }
}

void Reception::hello(const PeerPtr& peer, const Hello& message) {
  if (message.client >= ready_.size())
    return refuse(peer,
                  "client " + std::to_string(message.client) + " is unknown; this federation has clients 0 to " +
                      std::to_string(ready_.size() - 1),
                  true);
  if (rules_.authenticated && peer->connection->peer_name() != client_name(message.client))
    return refuse(peer,
                  "its certificate is for '" + peer->connection->peer_name() + "', not for '" + client_name(message.client) + "'",
                  true);
  if (const std::string why = denial(*peer); !why.empty()) return refuse(peer, why, true);
  const std::string other = difference(terms_.welcome.build, message.build);
  if (!other.empty() && !rules_.accept_other_builds)
    return refuse(peer,
                  "client " + std::to_string(message.client) + "'s build differs, so results would not be bit-identical: " +
                      other + "; to continue anyway, pass --accept-other-builds to serve and join",
                  true);
  if (const PeerPtr& other_peer = ready_[message.client])
    return refuse(peer,
                  "client " + std::to_string(message.client) + " is already connected, from " + other_peer->connection->address(),
                  false);
  peer->client = message.client;
  peer->stage = Peer::Stage::ready;
  peer->welcomed = Clock::now();
  if (!other.empty()) log_.warn(name(*peer) + ": different build: " + other);
  Welcome welcome = terms_.welcome;
  welcome.heartbeat_ms = static_cast<std::uint32_t>(rules_.heartbeat.count());
  if (terms_.tell_rows) terms_.tell_rows(message.client, welcome);
  peer->connection->send(encode(welcome), FrameKind::welcome);
}

void Reception::ready(const PeerPtr& peer, const Ready& message) {
  const RosterEntry& entry = terms_.roster[peer->client];
  const std::string who = "client " + std::to_string(peer->client);
  const bool brings_rows = !entry.data_hash.empty();
  const std::string& data_hash = brings_rows ? entry.data_hash : terms_.data_hash;
  if (message.data_hash != data_hash)
    return refuse(peer,
                  who + " has different data: their hash is '" + message.data_hash +
                      (brings_rows ? "'; in the roster, it is '" : "'; in the experiment, it is '") + data_hash + "'",
                  true);
  if (message.rows != entry.rows || message.rows_hash != entry.rows_hash)
    return refuse(peer,
                  who + "'s " + std::to_string(message.rows) + " rows are not the " + std::to_string(entry.rows) +
                      " rows the experiment assigns to it",
                  true);
  ClientStatus& status = status_[peer->client];
  if (terms_.keeps_state && message.last_round < status.last_round)
    return refuse(peer,
                  who + " has lost its state: the last round it knows is " + std::to_string(message.last_round) +
                      ", but it has answered round " + std::to_string(status.last_round) +
                      "; start it with the folder it used before",
                  true);
  if (const PeerPtr& other = ready_[peer->client])
    return refuse(peer, who + " is already connected, from " + other->connection->address(), false);
  peer->stage = Peer::Stage::serving;
  peer->evaluates = message.evaluates;
  ready_[peer->client] = peer;
  status.address = peer->connection->address();
  status.trouble.clear();
  status.certificate_expires = peer->connection->peer().expires;
  if (const std::string soon = expiry_warning("its certificate", peer->connection->peer().expires, std::time(nullptr));
      !soon.empty())
    log_.warn(name(*peer) + ": " + soon);
  if (last_) return send_last_to(peer);
  log_(name(*peer) + " joined");
  events_.joined(peer->client, message);
}

std::string Reception::denial(const Peer& peer) const {
  if (!rules_.authenticated) return {};
  const std::string entry = rules_.denied.entry_for(peer.connection->peer());
  return entry.empty() ? std::string() : "its certificate is on the deny list ('" + entry + "')";
}

void Reception::deny(DenyList list) {
  rules_.denied = std::move(list);
  for (const PeerPtr& peer : std::list(peers_))
    if (const std::string why = denial(*peer); !why.empty()) refuse(peer, why, true);
}

void Reception::refuse(const PeerPtr& peer, const std::string& reason, bool for_good) {
  peer->connection->send(encode(Refused{reason, for_good}), FrameKind::refused);
  peer->connection->end(reason, true);
}

void Reception::ended(const PeerPtr& peer, const std::string& reason) {
  const Connection& connection = *peer->connection;
  past_received_ += connection.bytes_received();
  past_sent_ += connection.bytes_sent();
  if (!reason.empty() && !closing_) {
    ++refused_;
    log_.warn(name(*peer) + ": " + reason);
  }
  if (peer->stage != Peer::Stage::hello) {
    ClientStatus& status = status_[peer->client];
    status.received += connection.bytes_received();
    status.sent += connection.bytes_sent();
    seen_[peer->client] = connection.last_received();
    if (peer->stage == Peer::Stage::serving || ready_[peer->client] == nullptr) {
      status.address = connection.address();
      status.trouble = reason;
    }
    if (ready_[peer->client] == peer) {
      ready_[peer->client] = nullptr;
      if (!closing_) events_.left(peer->client);
    }
  }
  waiting_for_slot_.remove(peer);
  release_slot(peer);
  peers_.remove(peer);
}

std::vector<ClientId> Reception::evaluating() const {
  std::vector<ClientId> clients;
  for (std::size_t client = 0; client < ready_.size(); ++client)
    if (ready_[client] && ready_[client]->evaluates) clients.push_back(static_cast<ClientId>(client));
  return clients;
}

bool Reception::send(ClientId client, const Frame& frame, FrameKind kind) {
  if (!ready_[client]) return false;
  ready_[client]->connection->send(frame, kind);
  return true;
}

void Reception::allow_update(ClientId client) {
  // Allows twice the size, since an update may be sent again after a broken connection.
  if (ready_[client])
    ready_[client]->granted += 2 * (largest_body(FrameKind::update, terms_.packings.update.size()) + kHeaderBytes);
}

void Reception::allow_attempt(ClientId client) {
  if (ready_[client])
    ready_[client]->granted += largest_body(FrameKind::masked, terms_.packings.update.spread_size()) +
                               4 * largest_body(FrameKind::secured, 0) + 5 * kHeaderBytes;
}

void Reception::dismiss(ClientId client, const std::string& reason, bool for_good) {
  if (const PeerPtr peer = ready_[client]) refuse(peer, reason, for_good);
}

void Reception::send_last(const Frame& last) {
  last_ = last;
  for (const PeerPtr& peer : std::list(peers_))
    if (peer->stage == Peer::Stage::serving) send_last_to(peer);
}

void Reception::send_last_to(const PeerPtr& peer) {
  sent_last_[peer->client] = true;
  peer->connection->send(last_, FrameKind::finished);
  peer->connection->end({}, true);
}

bool Reception::all_sent_last() const {
  for (const ClientStatus& status : status_)
    if (!status.address.empty() && !sent_last_[status.client]) return false;
  return true;
}

void Reception::close(const std::string& reason) {
  closing_ = true;
  listener_->close();
  beat_->timer.cancel();
  for (const PeerPtr& peer : std::list(peers_)) {
    if (!reason.empty()) peer->connection->send(encode(Refused{reason, false}), FrameKind::refused);
    peer->connection->end({}, true);
  }
}

std::vector<ClientStatus> Reception::status() const {
  std::vector<ClientStatus> all = status_;
  for (ClientStatus& status : all) {
    const PeerPtr& peer = ready_[status.client];
    status.connected = peer != nullptr;
    if (const auto& seen = seen_[status.client]) status.seconds_silent = seconds_since(*seen);
    if (!peer) continue;
    status.address = peer->connection->address();
    status.received += peer->connection->bytes_received();
    status.sent += peer->connection->bytes_sent();
    status.seconds_silent = seconds_since(peer->connection->last_received());
  }
  return all;
}

std::uint64_t Reception::bytes_received() const {
  std::uint64_t bytes = past_received_;
  for (const PeerPtr& peer : peers_) bytes += peer->connection->bytes_received();
  return bytes;
}

std::uint64_t Reception::bytes_sent() const {
  std::uint64_t bytes = past_sent_;
  for (const PeerPtr& peer : peers_) bytes += peer->connection->bytes_sent();
  return bytes;
}

}  // namespace fedstride
