#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/gradient.hpp"
#include "core/task.hpp"
#include "core/vector.hpp"
#include "server/aggregation.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

/// The promises of server/server_optimizer.hpp that a server optimiser, with its settings, does not keep: a line each, none if all
/// is well. For the test of one of one's own:
///   CHECK(complaints(ServerOptimizer(MyServerOptimizer{})).empty());
std::vector<std::string> complaints(const ServerOptimizer& optimizer);

/// The promises of server/aggregation.hpp that an aggregation, with its settings, does not keep; likewise.
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
