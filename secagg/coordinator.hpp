#pragma once

#include <map>
#include <string>
#include <vector>

#include "secagg/messages.hpp"
#include "secagg/shamir.hpp"

namespace fedstride::secagg {

/// The coordinator's side of one attempt at a round. take() accepts a stage's messages in any order; the call that returns the
/// next messages ends the stage. If take() refuses a message, it throws a one-line Error (failure) that names the client, which
/// then drops out. The other functions throw if too few clients are left; nothing has then been revealed. Not thread-safe.
class Coordinator {
 public:
  explicit Coordinator(const Session& session) : session_(session), sum_(session.length, session.bits) {}

  void take(const Advert& advert);
  Roster roster();

  void take(const Shares& shares);
  void end_sharing();
  Delivery delivery(ClientId client) const;  ///< for a client that shared
  const std::vector<ClientId>& sharers() const { return sharers_; }

  void take(const Masked& masked);
  Survivors survivors();

  void take(const Agreement& agreement);
  /// True if enough survivors have signed the list for agreements() to succeed.
  bool is_agreed() const { return agreements_.size() >= session_.plan.minimum; }
  Agreements agreements();

  void take(const Unmasking& unmasking);
  /// The sum of the survivors' inputs. A wrong share is left out if the others identify it. `remarks` names clients that gave
  /// wrong shares, and clients whose boxes did not open.
  Ring sum(std::vector<std::string>& remarks);

  /// The clients whose inputs are in the sum; valid after survivors().
  const std::vector<ClientId>& included() const { return included_; }

 private:
  enum class Stage { adverts, shares, masked, agreements, unmasking, over };
  void require(bool good, const std::string& what) const;
  void require(bool good, ClientId client, const std::string& what) const;
  void enough(std::size_t clients, const std::string& did) const;
  bool survives(ClientId client) const;
  Secret recover(ClientId owner, const char* what, const auto& fits, std::vector<std::string>& remarks) const;

  const Session& session_;
  Stage stage_ = Stage::adverts;
  std::map<ClientId, Advert> adverts_;
  Bytes32 roster_hash_ = {};
  std::map<ClientId, std::vector<ClientId>> holders_;
  std::map<ClientId, Shares> shares_;
  std::vector<ClientId> sharers_;
  Bytes32 sharers_hash_ = {};
  std::map<ClientId, Signature> masked_;
  std::vector<ClientId> included_;
  std::string agreement_;
  std::map<ClientId, Signature> agreements_;
  struct Given {
    ClientId holder;
    Share share;
  };
  std::map<ClientId, std::vector<Given>> given_;  ///< by owner
  std::map<ClientId, bool> opened_;
  std::map<ClientId, std::vector<ClientId>> withheld_;  ///< by owner: holders that gave no share of its secret
  Ring sum_;
};

}  // namespace fedstride::secagg
