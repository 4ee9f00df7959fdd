#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "secagg/ring.hpp"
#include "secagg/session.hpp"

namespace fedstride::secagg {

/// The messages of a round, in the order they are sent. `encoded` writes little-endian numbers; `decode` throws Error (failure)
/// for invalid bytes and allocates no more memory than the message has bytes.

inline constexpr std::size_t kMaxProof = 4096;  ///< maximum size of Invited::proof, in bytes; `decode` rejects a longer one

/// To each client, over a network: the members of the cohort that can take part, ascending, and the planned number of clients.
struct Invitation {
  struct Invited {
    Member member;
    /// Proves that the client owns the key: its certificate (DER) and a signature made with the certificate's private key, each
    /// preceded by its length. May be empty.
    std::string proof = {};
  };
  std::uint32_t planned = 0;
  std::vector<Invited> members = {};
};
/// Stage 1, from each client: its public keys for this attempt, and the terms it received.
struct Advert {
  ClientId client = 0;
  std::uint32_t round = 0;
  Bytes32 model = {};
  Bytes32 cohort = {};
  Bytes32 settings = {};
  Bytes32 share_key = {};   ///< X25519, for encrypting shares
  Bytes32 mask_key = {};    ///< X25519, for deriving masks
  Bytes32 commitment = {};  ///< to the seed of its own mask
  Signature signature = {};
};
/// To each client: all adverts, ascending.
struct Roster {
  std::vector<Advert> adverts;
};
/// Stage 2, from each client: two shares for each neighbor, encrypted.
struct Shares {
  struct Sealed {
    ClientId client = 0;  ///< the receiver; in a Delivery, the sender
    std::string box;
  };
  ClientId client = 0;
  std::vector<Sealed> boxes = {};
};
/// To each client: the clients that shared, ascending, and the boxes for this client.
struct Delivery {
  std::vector<ClientId> sharers;
  std::vector<Shares::Sealed> boxes = {};
};
/// Stage 3, from each client: its masked input, and its signature over the roster and the sharers.
struct Masked {
  ClientId client = 0;
  Ring input{0, 128};
  Signature signature = {};
};
struct Signed {
  ClientId client = 0;
  Signature signature = {};
};
/// To each client: the clients whose inputs have arrived, ascending, with their signatures.
struct Survivors {
  std::vector<Signed> clients;
};
/// Stage 4, from each client: its signature over the list of survivors. To each client: all these signatures, ascending.
using Agreement = Signed;
struct Agreements {
  std::vector<Signed> clients;
};
/// Stage 5, from each client: one share for every client whose shares it holds, of that client's seed if it survived, otherwise
/// of its mask key.
struct Unmasking {
  struct Opened {
    ClientId owner = 0;
    bool of_seed = false;
    Secret value = {};
  };
  ClientId client = 0;
  std::vector<Opened> shares = {};
};

template <class Message>
std::string encoded(const Message& message);
template <class Message>
Message decode(std::string_view bytes);

/// The texts that are signed, and hashes of lists.
std::string advert_text(const Advert& advert);
std::string masked_text(const Bytes32& roster, const Bytes32& sharers);
std::string agreement_text(const Bytes32& roster, const Bytes32& sharers, const Bytes32& survivors);
Bytes32 hash_of(const Roster& roster);
Bytes32 hash_of(std::span<const ClientId> clients);
/// The commitment to a seed, bound to the mask key.
Bytes32 commitment_to(const Secret& seed, const Bytes32& mask_key);

/// The keys of masks and boxes. Both clients of a pair can derive the pair's mask key and box keys.
Secret pair_mask_key(const Secret& shared, const Bytes32& roster, ClientId one, ClientId other);
Secret own_mask_key(const Secret& seed, const Bytes32& roster);
Secret box_key(const Secret& shared, const Bytes32& roster, ClientId from, ClientId to);

}  // namespace fedstride::secagg
