#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "secagg/primitives.hpp"

namespace fedstride::secagg {

/// Events less likely than 2^-40 are considered impossible.
inline constexpr double kLog2Failure = -40;

/// The cohort, drop-outs and colluders that a round of secure aggregation must withstand.
struct Assumed {
  unsigned clients = 0;    ///< in the cohort
  unsigned dropouts = 0;   ///< at most this many drop out in a round
  unsigned colluders = 0;  ///< at most this many collude with the coordinator
  bool operator==(const Assumed&) const = default;
};

/// The graph and its thresholds. A client shares its secrets with `degree` neighbors and itself; `threshold` of the shares reveal
/// a secret. A list of survivors is valid if it has at least `minimum` clients and at least as many signed it.
struct Plan {
  unsigned clients = 0;  ///< maximum in the cohort
  unsigned degree = 0;
  unsigned threshold = 0;
  unsigned minimum = 0;
  /// True if a coordinator that chooses the drop-outs could learn sums over groups of at least threshold - colluders clients.
  bool splits = false;
  bool operator==(const Plan&) const = default;
};

/// log2 of the probability that at least `least` of `drawn` items are marked, if they are drawn without replacement from
/// `population` items, of which `marked` are marked; -infinity if impossible.
double log2_hypergeometric_tail(unsigned population, unsigned marked, unsigned drawn, unsigned least);

/// Chooses the smallest degree, or the given one (0: none given), and the smallest threshold for which both failure probabilities
/// are at most 2^-40. A client reveals only one kind of share of another, so a threshold t for k + 1 shares is safe with x
/// colluders among the holders if 2 t > k + 1 + x (Bonawitz et al. 2017); x is hypergeometric after the permutation (Bell et al.
/// 2020). Throws Error (usage) with the reason if there is no such plan.
Plan choose_plan(const Assumed& assumed, unsigned degree = 0);

/// The graph of clients that hold each other's shares: a ring in the order of SHA-256(roster, client), where a client's neighbors
/// are the degree / 2 nearest clients on either side; all clients are neighbors if there are at most degree + 1.
class Graph {
 public:
  Graph(std::vector<ClientId> roster, const Bytes32& roster_hash, unsigned degree);

  /// The client and its neighbors, ascending; the i-th of them holds the share at point i + 1.
  std::vector<ClientId> holders(ClientId client) const;

 private:
  std::vector<ClientId> order_;
  std::vector<std::pair<ClientId, unsigned>> place_;  ///< by client, ascending
  unsigned degree_;
};

}  // namespace fedstride::secagg
