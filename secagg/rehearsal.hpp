#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/gradient.hpp"
#include "secagg/client.hpp"
#include "secagg/coordinator.hpp"

namespace fedstride::secagg {

/// The message before which a simulated client drops out.
enum class Leaves : std::uint8_t { before_keys, before_shares, before_input, before_signature, before_unmasking, never };

/// One attempt at a round with all roles in this process and with real keys and masks. All messages except masked inputs are
/// encoded and decoded. Of what two roles would compute alike, signatures are verified and pairs' secrets computed once; pieces
/// are clients.
class Rehearsal {
 public:
  /// Carries out the stages of keys and shares. `signing_keys` and `leaves` are in the cohort's order; `randomness` must be new.
  /// Throws Error (failure) if too few clients are left.
  Rehearsal(Session session, std::vector<Secret> signing_keys, const std::vector<Leaves>& leaves, const Secret& randomness,
            ForEachPiece for_each_piece = serially);

  /// Masks the input and adds it. Callable from any thread, once per client that takes part; clients whose input is not added have
  /// dropped out.
  void add(ClientId client, Ring input);
  /// Carries out the remaining stages. Throws Error (failure) if too few clients are left.
  Ring sum(ForEachPiece for_each_piece = serially);

  /// Bytes that a client has sent and received, excluding its input.
  std::uint64_t bytes_sent(ClientId client) const { return roles_.at(client).sent; }
  std::uint64_t bytes_received(ClientId client) const { return roles_.at(client).received; }
  const std::vector<ClientId>& included() const { return coordinator_.included(); }

 private:
  struct Role {
    std::unique_ptr<Client> client;
    Leaves leaves = Leaves::never;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    bool stays(Leaves stage) const { return leaves > stage; }
  };
  /// Has the coordinator take the answers of those of these clients that stay beyond this stage.
  void collect(const std::vector<ClientId>& clients, Leaves stage, ForEachPiece for_each_piece, const auto& answer);
  template <class Message>
  Message to_client(Role& role, const std::string& encoded);

  const Session session_;
  Coordinator coordinator_;
  std::map<ClientId, Role> roles_;
  std::mutex mutex_;  ///< guards coordinator_ while clients' messages arrive
};

}  // namespace fedstride::secagg
