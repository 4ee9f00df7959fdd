#pragma once

#include <cstdint>

#include "partitions/partition.hpp"

namespace fedstride {

/// Keeps `limit` random rows of each client that has more. A client's draws depend only on its own rows and the seed; a larger
/// limit keeps every row that a smaller one keeps. Throws Error (usage) unless limit >= 1.
ClientRows limit_per_client(const ClientRows& assignment, int limit, std::uint64_t seed);

}  // namespace fedstride
