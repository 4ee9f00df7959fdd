#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/task.hpp"
#include "secagg/plan.hpp"
#include "secagg/primitives.hpp"

namespace fedstride::secagg {

inline constexpr std::uint32_t kMaxCohort = 65536;
inline constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 30;

/// A client and its long-term Ed25519 signing key.
struct Member {
  ClientId client = 0;
  Bytes32 key = {};
};

/// The terms of a round, which all parties must have received identically. They enter every signature and mask.
struct Session {
  std::uint32_t round = 0;
  Bytes32 model = {};               ///< SHA-256 of the model that the clients train
  std::vector<Member> cohort = {};  ///< ascending
  Plan plan = {};
  std::uint64_t length = 0;                                ///< of the vectors
  unsigned bits = 128;                                     ///< of the ring
  std::string settings = {};                               ///< anything else that must match, such as the grid
  std::shared_ptr<VerifiedSignatures> verified = nullptr;  ///< null: each role verifies for itself
  std::shared_ptr<PairSecrets> pairs = nullptr;            ///< null: each role computes its shared secrets itself

  Bytes32 cohort_hash() const;
  Bytes32 settings_hash() const;
  const Member* find(ClientId client) const;
  /// True if a member signed the message. Requires the client to be a member.
  bool is_signed(ClientId client, std::string_view message, const Signature& signature) const;
};

}  // namespace fedstride::secagg
