#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "secagg/messages.hpp"

namespace fedstride::secagg {

/// The list of survivors for which a client has given shares in a round, to be kept on its disk.
struct KeptList {
  std::uint32_t round = 0;
  Bytes32 survivors = {};
  bool operator==(const KeptList&) const = default;
};

/// Another client's keys cannot be used: this client takes no further part in the attempt, but in the next, from which the coordinator
/// has left out whoever sent them.
struct UnusableKeys : Error {
  using Error::Error;
};

/// A client's side of one attempt at a round: advertise, share, mask, agree, open, each once, in this order. A refusal is an Error
/// (failure) of one line; the client then takes no further part in the attempt.
class Client {
 public:
  /// `signing_key` belongs to the key that the cohort lists for `self`; `randomness` must be new for every attempt. The session must
  /// outlive the client. Throws Error (failure) if the cohort does not have this client and key, or has more clients than the plan is
  /// made for: two lists of survivors could then both have its minimum.
  Client(const Session& session, ClientId self, const Secret& signing_key, const Secret& randomness);

  Advert advertise();
  /// Refused unless every advert is for the same round, model, cohort and settings, and those of neighbors are signed by the cohort's
  /// keys. Throws UnusableKeys, as mask() does, if a neighbor's are of small order.
  Shares share(const Roster& roster);
  /// Refused unless there is a box of every neighbor that shared, and enough of them open: of a neighbor whose box does not, this
  /// client holds no shares, and its masks are as ever. No input is masked twice by the same keys.
  Masked mask(const Delivery& delivery, Ring input);
  /// The neighbors whose boxes did not open, ascending.
  const std::vector<ClientId>& unopened() const { return unopened_; }
  /// Refused unless every neighbor that survived signed the same roster and sharers, this client is one, and there are Plan::minimum.
  Agreement agree(const Survivors& survivors);
  /// The shares, and what must be on the client's disk before they are sent. Refused unless Plan::minimum survivors signed the same
  /// list, and if `earlier` says that this client gave shares for another list in this round, or that the round is over.
  struct Opening {
    KeptList keep;
    Unmasking shares;
  };
  Opening open(const Agreements& agreements, const std::optional<KeptList>& earlier);

 private:
  enum class Stage { advertise, share, mask, agree, open, over };
  void begin(Stage stage);
  void require(bool good, const std::string& what) const;
  Secret exchanged(const Secret& own, ClientId other, const Bytes32& key) const;
  const Advert& advert_of(ClientId client) const;
  bool is_sharer(ClientId client) const;

  const Session& session_;
  ClientId self_;
  Secret signing_key_;
  Secret share_secret_;
  Secret mask_secret_;
  Secret seed_;
  Secret coefficients_[2];
  Stage stage_ = Stage::advertise;
  Roster roster_;
  Bytes32 roster_hash_ = {};
  std::vector<ClientId> holders_;  ///< of this client's shares, and those whose shares it holds
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
