#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/objectives/local_objective.hpp"
#include "client/optim/optimizer.hpp"
#include "client/personal/personal.hpp"
#include "core/gradient.hpp"
#include "core/task.hpp"
#include "core/vector.hpp"
#include "partitions/partitions.hpp"
#include "server/aggregation.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

/// For the tests of your own parts. A line for each promise of its family that a part, with its settings, breaks; empty if it keeps
/// them all:
///   CHECK(complaints(Optimizer(MyOptimizer{})).empty());
/// A local optimizer is tried on small quadratic bowls, which takes milliseconds.
std::vector<std::string> complaints(const Optimizer& optimizer);
std::vector<std::string> complaints(const LocalObjective& objective);
std::vector<std::string> complaints(const Personal& personal);
/// Deals out some fifty inputs of 1 to 500 drawn rows, of which the partition may refuse some (Error, usage), but not all. The
/// caller must see to it that dealing ends within a time bounded by the sizes.
std::vector<std::string> complaints(const Partitioner& partitioner);
std::vector<std::string> complaints(const ServerOptimizer& optimizer);
std::vector<std::string> complaints(const Aggregation& aggregation);

/// A round to try an aggregation with: the changes of clients 0, 1, ...
struct TriedRound {
  std::vector<Vector> changes;
  std::vector<std::uint64_t> weights = {};  ///< by client; empty: 1 each
  std::vector<ClientId> arrival = {};       ///< in this order; empty: in order of clients
};
/// The aggregation's change for the round. Empty if it has none.
std::optional<Vector> aggregated(const Aggregation& aggregation, const TriedRound& round, ForEachPiece for_each_piece = serially);

}  // namespace fedstride
