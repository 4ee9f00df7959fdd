#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "secagg/coordinator.hpp"
#include "server/secure_rules.hpp"
#include "sim/net/messages.hpp"

namespace fedstride {

/// Returns the session of a networked round, without its cohort; both sides make it with this function. `planned` is the size of
/// the drawn cohort, of which some clients may be absent.
secagg::Session secure_session(const SecureRules& rules, std::uint32_t round, const std::string& model_hash,
                               std::span<const double> told, std::uint32_t planned, std::uint64_t length);

/// What a client knows about its experiment's cohorts independently of its coordinator.
struct DrawnClients {
  std::size_t among = 0;  ///< number of clients in the federation
  std::size_t least = 0;  ///< smallest number of clients in a round
  std::size_t most = 0;
  std::string_view cohort = {};  ///< the kind of cohort
};

/// Makes a client's session from its coordinator's invitation. No other function limits the numbers in an invitation. `check_key`
/// throws for a key that is not the named client's. Throws Error (failure), whose one-line message omits the round, if no honest
/// coordinator could have sent this invitation.
secagg::Session invited_session(const SecureRules& rules, const secagg::Invitation& invitation, const DrawnClients& drawn,
                                const Train& train, std::uint64_t length,
                                const std::function<void(const secagg::Invitation::Invited&)>& check_key);

/// The coordinator's side of one attempt at a round of secure aggregation over the network: tracks which clients still owe a
/// message, and sends the messages of the next stage. Used by one thread.
class SecureAttempt {
 public:
  enum class Stage : std::uint32_t { keys = 1, shares, inputs, signatures, unmasking };
  using Send = std::function<void(ClientId client, const Frame& frame)>;

  /// Invites the members.
  SecureAttempt(secagg::Session session, const secagg::Invitation& invitation, std::uint32_t number, Send send);
  SecureAttempt& operator=(SecureAttempt&&) = delete;

  std::uint32_t number() const { return number_; }
  Stage stage() const { return stage_; }
  /// Returns the clients whose message for this stage has not arrived.
  const std::set<ClientId>& owing() const { return owing_; }
  /// True if the client's masked input has arrived.
  bool has_input(ClientId client) const { return inputs_.contains(client); }
  bool takes_part(ClientId client) const { return session_.find(client) != nullptr && !gone_.contains(client); }

  /// Takes a client's message. Throws Error (failure), whose one-line message names the client, if the message is refused; the
  /// caller must then drop the client.
  void take(ClientId client, std::uint32_t stage, const std::string& message);
  /// From now on, nothing is expected from the client or sent to it.
  void drop(ClientId client);
  /// Ends the stage and sends the messages for the next one. Throws Error (failure) if too few clients are left; nothing is
  /// revealed.
  void next();
  /// True if next() asks the clients for shares: enough have signed the list of survivors.
  bool will_open() const { return stage_ == Stage::signatures && coordinator_.is_agreed(); }
  /// After the last stage: see secagg::Coordinator::sum.
  secagg::Ring sum(std::vector<std::string>& remarks) { return coordinator_.sum(remarks); }
  const std::vector<ClientId>& included() const { return coordinator_.included(); }

 private:
  template <class Message>
  void take(ClientId client, const std::string& message);
  Frame frame(const std::string& message) const;
  void send_to(const auto& clients, auto client, auto frame_for);

  const secagg::Session session_;
  std::uint32_t number_;
  Send send_;
  secagg::Coordinator coordinator_;
  Stage stage_ = Stage::keys;
  std::set<ClientId> owing_;
  std::set<ClientId> inputs_;
  std::set<ClientId> gone_;
};

/// "keys", "shares", "masked inputs", "signatures", "unmasking"
std::string_view stage_name(SecureAttempt::Stage stage);

}  // namespace fedstride
