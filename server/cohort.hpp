#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/part.hpp"
#include "core/random.hpp"
#include "core/task.hpp"
#include "dp/draws/draws.hpp"

namespace fedstride {

/// The inputs from which a cohort is drawn.
struct CohortQuestion {
  std::uint32_t round = 1;
  std::span<const std::uint64_t> rows = {};  ///< number of rows of each client
  const RandomSource& source;
  /// Each client's last reported mean training loss, NaN if none; empty unless asks_for_losses().
  std::span<const double> losses = {};
  /// The minimum distance between two rounds in which the same client takes part. Each client draws one of this many groups at
  /// its own address, and rounds ask the groups in turn. A client that fails is not asked again any earlier.
  std::uint64_t separation = 1;

  bool is_in_turn(ClientId client) const {
    if (separation == 1) return true;
    RandomStream random = source.at({.purpose = Purpose::separation, .client = client});
    return random.below(separation) == (round - 1) % separation;
  }
  std::size_t clients() const { return rows.size(); }
};

/// A way to choose a cohort, the clients of a round.
class CohortPart : public Part {
 public:
  static PartFamily& family();  ///< server/cohorts.cpp has the list

  /// The clients of the round, in order. They depend only on the question.
  virtual std::vector<ClientId> sample(const CohortQuestion& question) const = 0;
  /// The probability that a client takes part in a round, averaged over clients.
  virtual double rate(std::size_t clients) const = 0;
  /// True if a client's participation does not depend on the other clients. If false, one client's presence displaces others, so
  /// no guarantee can hide that presence (sim/settings/neighbours.hpp).
  virtual bool is_independent() const = 0;
  /// The sampling that the accounting uses if the cohort's members are secret.
  virtual Sampling sampling() const { return Sampling::full; }
  virtual bool asks_for_losses() const { return false; }
  /// The mutable setting for the number of clients in a round; null if there is none.
  virtual int* size_setting() { return nullptr; }
  /// The maximum number of clients in a round. Throws Error (usage) if there are too few clients to draw from.
  virtual std::size_t most(std::size_t clients) const { return clients; }
  /// The minimum number of clients in a round, except with probability 2^-40; 0 if unknown.
  virtual std::size_t least(std::size_t /*clients*/) const { return 0; }
  /// The hash of the file that the cohort reads; empty if none. Throws Error if the file does not fit the number of clients.
  virtual std::string file_hash(std::size_t /*clients*/) const { return {}; }
};

/// The kind of cohort chosen for a run; all clients by default.
using Cohort = Chosen<CohortPart>;

}  // namespace fedstride
