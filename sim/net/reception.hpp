#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/evaluation.hpp"
#include "secagg/primitives.hpp"
#include "sim/net/connection.hpp"
#include "sim/net/deny_list.hpp"
#include "sim/net/messages.hpp"
#include "sim/net/packing.hpp"
#include "sim/net/status.hpp"

namespace fedstride {

/// What the coordinator knows about a client before it connects.
struct RosterEntry {
  std::uint64_t rows = 0;
  std::string rows_hash;
  std::string data_hash =
      {};  ///< of the rows that the client supplies; empty if its rows come from the data set of FederationTerms::data_hash
};

/// The experiment as sent to clients, and the values against which their answers are checked.
struct FederationTerms {
  Welcome welcome;  ///< except for heartbeat_ms, which comes from ReceptionRules
  std::string data_hash;
  std::string_view metric = Evaluation().metric;  ///< the metric of evaluations
  std::vector<RosterEntry> roster;                ///< indexed by client
  Packings packings = {};
  bool secure = false;  ///< whether clients have signing keys and mask their updates
  /// Returns why a signing key is not the client's own (KeyChecker::objection). An empty function accepts every key.
  using KeyObjection = std::function<std::string(ClientId, const secagg::Bytes32& key, const std::string& proof)>;
  KeyObjection key_objection = {};
  bool keeps_state = false;  ///< whether clients keep a state between rounds, which they must not lose
  /// If the coordinator assigns rows: adds a client's rows to its welcome. May be empty.
  std::function<void(ClientId client, Welcome& welcome)> tell_rows = {};
};

/// How the coordinator accepts its clients.
struct ReceptionRules {
  Endpoint listen;
  Transport transport;
  bool authenticated = true;  ///< true: clients are identified by certificate; false: by their own claim (plain, loopback)
  bool accept_other_builds = false;
  DenyList denied = {};  ///< certificates that are rejected
  std::chrono::milliseconds heartbeat{5000};
  std::chrono::milliseconds ready_within{300000};  ///< maximum time from the welcome until a client is ready
  std::size_t connections = 64;
  std::size_t updates_in_flight = 4;
};

/// Manages all connected peers: listens, takes clients through hello, welcome and ready, enforces the limits on every peer, and
/// forwards the frames of ready clients. Runs on the io thread.
class Reception {
 public:
  struct Events {
    std::function<void(ClientId, const Ready&)> joined;   ///< the client can now be asked to train
    std::function<void(ClientId, UpdateMessage)> update;  ///< well-formed and from this client; nothing else has been checked
    std::function<void(ClientId, std::uint64_t examples)> heartbeat;
    std::function<void(ClientId, EvaluationMessage)> evaluation;  ///< well-formed; nothing else has been checked
    std::function<void(ClientId, std::uint32_t round, std::uint32_t attempt, std::uint32_t stage, const std::string& message)>
        secured;                         ///< a client's message of secure aggregation; nothing has been checked
    std::function<void(ClientId)> left;  ///< the connection of a ready client has ended
  };
  Reception(asio::io_context& io, const FederationTerms& terms, const ReceptionRules& rules, NetworkLog log, Events events);
  ~Reception();

  std::uint16_t port() const { return listener_->port(); }
  /// New connections use this transport (Listener::renew).
  void renew(Transport transport) { listener_->renew(std::move(transport)); }
  bool is_ready(ClientId client) const { return ready_[client] != nullptr; }
  /// Returns the clients that are ready and offer to evaluate models, in ascending order.
  std::vector<ClientId> evaluating() const;
  /// Replaces the deny list; connected clients on it receive the reason and are disconnected.
  void deny(DenyList list);
  /// True if the client is denied by name, regardless of its certificate.
  bool is_denied(ClientId client) const { return rules_.authenticated && rules_.denied.denies_name(client_name(client)); }

  /// Sends to a client if it is ready; otherwise does nothing and returns false.
  bool send(ClientId client, const Frame& frame, FrameKind kind);
  /// Allows the client to send the bytes of one more requested update.
  void allow_update(ClientId client);
  /// Allows the client to send its messages of one attempt of secure aggregation.
  void allow_attempt(ClientId client);
  /// Sends the reason to the client and ends its connection.
  void dismiss(ClientId client, const std::string& reason, bool for_good);
  /// From now on, sends this frame to every client that is or becomes ready, then closes its connection normally.
  void send_last(const Frame& last);
  /// True if every client that ever connected has been sent the last frame.
  bool all_sent_last() const;
  /// Closes every connection normally and stops accepting. A reason is sent to all peers, who may try again.
  void close(const std::string& reason = {});

  void set_last_round(ClientId client, std::uint32_t round) { status_[client].last_round = round; }
  std::uint32_t last_round(ClientId client) const { return status_[client].last_round; }
  /// Returns the fields of each client's status known here (connection, bytes, trouble, last round), indexed by client.
  std::vector<ClientStatus> status() const;
  std::uint64_t bytes_received() const;
  std::uint64_t bytes_sent() const;
  std::uint64_t refused() const { return refused_; }

 private:
  struct Peer;
  using PeerPtr = std::shared_ptr<Peer>;

  void accepted(ConnectionPtr connection);
  Connection::Verdict admit(const PeerPtr& peer, const FrameHeader& header);
  void received(const PeerPtr& peer, FrameKind kind, const std::string& body);
  void hello(const PeerPtr& peer, const Hello& message);
  void ready(const PeerPtr& peer, const Ready& message);
  void ended(const PeerPtr& peer, const std::string& reason);
  /// Sends the reason to the peer and ends its connection.
  void refuse(const PeerPtr& peer, const std::string& reason, bool for_good);
  void send_last_to(const PeerPtr& peer);
  /// Makes room for another connection with this certificate: at the limit, ends the oldest connection that is not serving.
  void evict_for(const std::string& certificate);
  void refuse_slow_peers();
  void take_slot(const PeerPtr& peer);
  void release_slot(const PeerPtr& peer);
  void beat();
  std::string name(const Peer& peer) const;
  /// Returns why the peer is denied; empty if it is not.
  std::string denial(const Peer& peer) const;

  const FederationTerms& terms_;
  ReceptionRules rules_;
  NetworkLog log_;
  Events events_;
  struct Beat;
  std::unique_ptr<Beat> beat_;
  std::unique_ptr<Listener> listener_;
  std::list<PeerPtr> peers_;    ///< every open connection
  std::vector<PeerPtr> ready_;  ///< indexed by client
  std::list<PeerPtr> waiting_for_slot_;
  std::size_t slots_;
  std::vector<ClientStatus> status_;  ///< indexed by client; byte counts cover ended connections only
  std::vector<std::optional<std::chrono::steady_clock::time_point>> seen_;  ///< when an ended connection's last byte came
  std::uint64_t past_received_ = 0;                                         ///< bytes of ended connections
  std::uint64_t past_sent_ = 0;
  std::uint64_t refused_ = 0;
  Frame last_;                   ///< null until send_last
  std::vector<bool> sent_last_;  ///< indexed by client
  bool closing_ = false;
};

}  // namespace fedstride
