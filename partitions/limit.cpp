#include "partitions/limit.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "core/random.hpp"

namespace fedstride {

void limit_per_client(Assignment& assignment, int limit, std::uint64_t seed) {
  if (limit < 1) throw usage_error("limit-per-client is " + std::to_string(limit) + "; it must be a whole number from 1");
  for (std::size_t client = 0; client < assignment.size(); ++client) {
    auto& rows = assignment[client];
    if (rows.size() <= static_cast<std::size_t>(limit)) continue;
    RandomStream random(seed, {.purpose = Purpose::limit_per_client, .client = static_cast<std::uint32_t>(client)});
    shuffle(std::span(rows), random);
    rows.resize(static_cast<std::size_t>(limit));
    std::sort(rows.begin(), rows.end());
  }
}

}  // namespace fedstride
