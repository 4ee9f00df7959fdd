#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "net/connection.hpp"
#include "net/deny_list.hpp"
#include "net/log.hpp"
#include "net/messages.hpp"
#include "net/packing.hpp"
#include "net/status.hpp"

namespace fedstride {

/// The coordinator's knowledge of a client before the client connects.
struct RosterEntry {
  std::uint64_t rows = 0;
  std::string rows_hash;
  std::string data_hash = {};  ///< of the rows it brings itself; empty: they are of FederationTerms::data_hash
};

/// The experiment as sent to clients, and the facts to check them against.
struct FederationTerms {
  Welcome welcome;  ///< except its heartbeat, which comes from ReceptionRules
  std::string data_hash;
  std::vector<RosterEntry> roster;  ///< by client
  Packings packings = {};
  bool keeps_state = false;  ///< clients have a state from round to round and must not have lost it
  /// Where clients are told their rows: completes the welcome of each. May be empty.
  std::function<void(ClientId client, Welcome& welcome)> tell_rows = {};
};

/// The rules by which the coordinator receives its clients.
struct ReceptionRules {
  Endpoint listen;
  Transport transport;
  bool authenticated = true;  ///< identity is the certificate's; false: the client's own claim (plain, loopback)
  bool accept_other_builds = false;
  DenyList denied = {};  ///< certificates that are not let in
  std::chrono::milliseconds heartbeat{5000};
  std::chrono::milliseconds ready_within{300000};  ///< from its welcome until a client must have its data
  std::size_t connections = 64;
  std::size_t updates_in_flight = 4;
};

/// All connected peers: listens, leads clients through hello, welcome and ready, enforces the limits on every peer, and
/// passes on the frames of clients that are ready. Runs on the io thread.
class Reception {
 public:
  struct Events {
    std::function<void(ClientId)> joined;                 ///< ready to be asked
    std::function<void(ClientId, UpdateMessage)> update;  ///< well-formed, and of that client; nothing else is checked
    std::function<void(ClientId, std::uint64_t examples)> heartbeat;
    std::function<void(ClientId, EvaluationMessage)> evaluation;  ///< well-formed; nothing else is checked
    std::function<void(ClientId)> left;                           ///< was ready, and its connection has ended
  };
  Reception(asio::io_context& io, const FederationTerms& terms, const ReceptionRules& rules, NetworkLog log, Events events);
  ~Reception();

  std::uint16_t port() const { return listener_->port(); }
  bool is_ready(ClientId client) const { return ready_[client] != nullptr; }
  /// The clients that are ready and offer to test models, in order.
  std::vector<ClientId> evaluating() const;
  /// From now on these are denied; who is connected all the same is told so and leaves.
  void deny(DenyList list);
  /// True if the client is denied whatever its certificate.
  bool is_denied(ClientId client) const { return rules_.authenticated && rules_.denied.denies_name(client_name(client)); }

  /// Sends to a client if it is ready; else does nothing.
  void send(ClientId client, const Frame& frame, FrameKind kind);
  /// Grants the bytes of one more update, which the client has been asked for.
  void expect_update(ClientId client);
  /// Tells the client the reason and ends its connection.
  void dismiss(ClientId client, const std::string& reason, bool for_good);
  /// From now on sends this frame to every client that is or becomes ready, and then ends its connection regularly.
  void say_last(const Frame& last);
  /// True if all clients that were ever connected were sent the last frame.
  bool all_told() const;
  /// Ends every connection regularly and accepts no more.
  void close();

  void set_last_round(ClientId client, std::uint32_t round) { status_[client].last_round = round; }
  std::uint32_t last_round(ClientId client) const { return status_[client].last_round; }
  /// The status of each client as known here (connection, bytes, trouble, last round), by client.
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
  /// Tells the peer the reason and ends its connection.
  void refuse(const PeerPtr& peer, const std::string& reason, bool for_good);
  void tell_last(const PeerPtr& peer);
  /// Ends the older of two connections with the certificate of a third.
  void make_room_for(const std::string& certificate);
  void refuse_the_slow();
  void take_slot(const PeerPtr& peer);
  void give_slot(const PeerPtr& peer);
  void beat();
  std::string name(const Peer& peer) const;
  /// The reason to deny the peer; empty if there is none.
  std::string denial(const Peer& peer) const;

  const FederationTerms& terms_;
  ReceptionRules rules_;
  NetworkLog log_;
  Events events_;
  struct Beat;
  std::unique_ptr<Beat> beat_;
  std::unique_ptr<Listener> listener_;
  std::list<PeerPtr> peers_;    ///< every open connection
  std::vector<PeerPtr> ready_;  ///< by client
  std::list<PeerPtr> waiting_for_slot_;
  std::size_t slots_;
  std::vector<ClientStatus> status_;  ///< by client; of ended connections
  std::uint64_t past_received_ = 0;   ///< bytes of ended connections
  std::uint64_t past_sent_ = 0;
  std::uint64_t refused_ = 0;
  Frame last_;              ///< none until say_last
  std::vector<bool> told_;  ///< by client
  bool closing_ = false;
};

}  // namespace fedstride
