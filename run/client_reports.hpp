#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/task.hpp"

namespace fedstride {

/// How many of a round's clients have a report of their own in rounds.jsonl.
struct ClientReports {
  std::size_t most = std::numeric_limits<std::size_t>::max();
  std::uint64_t seed = 0;

  /// Reads "all", "none" or a number of clients. Throws Error (usage) for anything else.
  static ClientReports of(std::string_view text, std::uint64_t seed);

  /// The places in `reports` of those that are written, ascending. If there are more than `most`: those with the smallest numbers
  /// drawn at (client_reports, client): the same clients in every round in which they take part.
  std::vector<std::size_t> chosen(std::span<const ClientReport> reports) const;
};

}  // namespace fedstride
