#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "secagg/messages.hpp"

namespace fedstride::secagg {

/// The hash of the list of survivors for which a client has revealed shares in a round; kept on the client's disk.
struct KeptList {
  std::uint32_t round = 0;
  Bytes32 survivors = {};
  bool operator==(const KeptList&) const = default;
};

/// Thrown if another client's keys cannot be used: this client leaves the attempt but joins the next one, from which the
/// coordinator has excluded the sender.
struct UnusableKeys : Error {
  using Error::Error;
};

/// A client's side of one attempt at a round: advertise, share, mask, agree and open are called once each, in this order. A
/// refusal is a one-line Error (failure); the client then leaves the attempt.
class Client {
 public:
  /// `signing_key` is the private half of the key that the cohort lists for `self`; `randomness` must be new for every attempt.
  /// The session must outlive the client. Throws Error (failure) if the cohort lacks this client and key, or has more clients
  /// than planned, because two lists of survivors could then both reach the minimum.
  Client(const Session& session, ClientId self, const Secret& signing_key, const Secret& randomness);

  Advert advertise();
  /// Refused unless all adverts are for the same round, model, cohort and settings, and neighbors' adverts are signed with the
  /// keys that the cohort lists. Throws UnusableKeys, like mask(), if a neighbor's key has small order.
  Shares share(const Roster& roster);
  /// Refused unless there is a box from every neighbor that shared, and enough of the boxes open. If a neighbor's box does not
  /// open, this client holds none of that neighbor's shares; the masks are unaffected. No input is masked twice with the same
  /// keys.
  Masked mask(const Delivery& delivery, Ring input);
  /// The neighbors whose boxes did not open, ascending.
  const std::vector<ClientId>& unopened() const { return unopened_; }
  /// Refused unless there are at least Plan::minimum survivors, this client is among them, and all surviving neighbors signed the
  /// same roster and sharers.
  Agreement agree(const Survivors& survivors);
  /// The shares, and the record that must be on the client's disk before they are sent. open() is refused unless at least
  /// Plan::minimum survivors signed the same list. It is also refused if `earlier` shows that this client has revealed shares for
  /// another list in this round, or in a later round.
  struct Opening {
    KeptList keep;
    Unmasking shares;
  };
  Opening open(const Agreements& agreements, const std::optional<KeptList>& earlier);

 private:
  enum class Stage { advertise, share, mask, agree, open, over };
  void begin(Stage stage);
  void require(bool good, const std::string& what) const;
  Secret exchanged(const ExchangeKey& own, ClientId other, const Bytes32& key) const;
  bool is_sharer(ClientId client) const;

  const Session& session_;
  ClientId self_;
  SigningKey signing_key_;
  std::optional<ExchangeKey> share_key_, mask_key_;
  Secret mask_secret_;
  Secret seed_;
  Secret coefficients_[2];
  Stage stage_ = Stage::advertise;
  Advert own_;
  std::vector<ClientId> senders_;  ///< of keys; like the other lists of clients, kept only while a later step needs it
  Bytes32 roster_hash_ = {};
  std::vector<ClientId> holders_;          ///< of this client's shares; this client holds theirs
  std::map<ClientId, Bytes32> mask_keys_;  ///< the neighbors' public keys
  std::map<ClientId, Secret> shared_;
  struct Held {
    Secret seed;
    Secret mask;
  };
  std::map<ClientId, Held> held_;
  std::vector<ClientId> unopened_;
  std::vector<ClientId> sharers_;
  Bytes32 sharers_hash_ = {};
  std::vector<ClientId> survivors_;
};

}  // namespace fedstride::secagg
