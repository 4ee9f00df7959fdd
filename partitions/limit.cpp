#include "partitions/client_rows.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "core/random.hpp"

namespace fedstride {

ClientRows limit_per_client(const ClientRows& assignment, int limit, std::uint64_t seed) {
  if (limit < 1) throw usage_error("limit-per-client is " + std::to_string(limit) + "; it must be a whole number from 1");
  std::vector<std::uint32_t> kept;
  std::vector<std::size_t> sizes;
  sizes.reserve(assignment.size());
  for (std::size_t client = 0; client < assignment.size(); ++client) {
    std::vector<std::uint32_t> rows(assignment[client].begin(), assignment[client].end());
    if (rows.size() > static_cast<std::size_t>(limit)) {
      RandomStream random(seed, {.purpose = Purpose::limit_per_client, .client = static_cast<std::uint32_t>(client)});
      shuffle(std::span(rows), random);
      rows.resize(static_cast<std::size_t>(limit));
    }
    kept.insert(kept.end(), rows.begin(), rows.end());
    sizes.push_back(rows.size());
  }
  return {std::move(kept), sizes};
}

}  // namespace fedstride
