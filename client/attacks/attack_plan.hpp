#pragma once

#include <cstdint>
#include <vector>

#include "client/attacks/attack.hpp"

namespace fedstride {

/// A run's attack and its attackers.
struct AttackPlan {
  Attack attack = {};
  std::vector<bool> attackers = {};  ///< one flag per client; empty if there are no attackers
  std::uint64_t seed = 0;
  double clients_a_round = 0;    ///< mean number of clients per round
  double attackers_a_round = 0;  ///< mean number of attackers among them

  bool has(std::uint32_t client) const { return client < attackers.size() && attackers[client]; }
  AttackRound at(std::uint32_t round) const { return {seed, round, clients_a_round, attackers_a_round}; }
};

}  // namespace fedstride
