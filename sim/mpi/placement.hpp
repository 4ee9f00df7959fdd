#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/task.hpp"

namespace fedstride {

/// Assigns items with these costs, numbered from 0, to `workers` workers (1 or more): the most expensive first, each to
/// the worker with the least load so far (longest processing time first: Graham 1969, "Bounds on multiprocessing timing
/// anomalies", theorem 2: at most 4/3 of the optimum). Ties are broken by number, so the result depends only on the arguments.
/// Returns each worker's items, the most expensive first.
std::vector<std::vector<std::size_t>> placed_by_cost(std::span<const double> costs, std::size_t workers);

/// Assigns the clients of a cohort to ranks; a client's cost is its number of rows plus 1. Returns each rank's clients.
std::vector<std::vector<ClientId>> placed_clients(std::span<const ClientId> cohort, std::span<const std::uint64_t> row_counts,
                                                  std::size_t ranks);

}  // namespace fedstride
