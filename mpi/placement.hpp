#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/task.hpp"

namespace fedstride {

/// Things with a cost, numbered from 0, given to `takers`, 1 or more: the costliest first, each to the taker that has least so
/// far (longest processing time first: Graham 1969, "Bounds on multiprocessing timing anomalies", theorem 2: at most 4/3 of
/// the best possible). Ties go by number, so that the result is a function of the arguments alone. Returns each taker's
/// numbers, the costliest first.
std::vector<std::vector<std::size_t>> placed_by_cost(std::span<const double> costs, std::size_t takers);

/// The clients of each rank, of a cohort; a client costs what it has in rows.
std::vector<std::vector<ClientId>> placed_clients(std::span<const ClientId> cohort, std::span<const std::uint64_t> row_counts,
                                                  std::size_t ranks);

}  // namespace fedstride
