#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "secagg/messages.hpp"

namespace fedstride::secagg {

/// The list of survivors for which a client has revealed shares in a round, kept on its disk.
struct KeptList {
  std::uint32_t round = 0;
  Bytes32 survivors = {};
  bool operator==(const KeptList&) const = default;
};

/// Another client's keys cannot be used: this client leaves the attempt, but joins the next one, from which the coordinator has
/// excluded the sender.
struct UnusableKeys : Error {
  using Error::Error;
};

/// A client's side of one attempt at a round: advertise, share, mask, agree, open, each once, in this order. A refusal is an
/// Error (failure) of one line; the client then leaves the attempt.
class Client {
 public:
  /// `signing_key` belongs to the key that the cohort lists for `self`; `randomness` must be new for every attempt. The session
  /// must outlive the client. Throws Error (failure) if the cohort lacks this client and key, or has more clients than
  /// planned: two lists of survivors could then both have its minimum.
  Client(const Session& session, ClientId self, const Secret& signing_key, const Secret& randomness);

  Advert advertise();
  /// Refused unless every advert is for the same round, model, cohort and settings, and those of neighbors are signed by the
  /// cohort's keys. Throws UnusableKeys, like mask(), if a neighbor's keys are of small order.
  Shares share(const Roster& roster);
  /// Refused unless there is a box from every neighbor that shared, and enough of them open: if a neighbor's box does not, this
  /// client holds none of its shares, and the masks are unchanged. No input is masked twice with the same keys.
  Masked mask(const Delivery& delivery, Ring input);
  /// The neighbors whose boxes did not open, ascending.
  const std::vector<ClientId>& unopened() const { return unopened_; }
  /// Refused unless every neighbor that survived signed the same roster and sharers, including this client, and there are
  /// Plan::minimum of them.
  Agreement agree(const Survivors& survivors);
  /// The shares, and the record that must be on the client's disk before they are sent. Refused unless Plan::minimum survivors
  /// signed the same list, and if `earlier` shows that this client revealed shares for another list in this round, or that the
  /// round is over.
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
  std::vector<ClientId> holders_;  ///< of this client's shares, and clients whose shares it holds
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
