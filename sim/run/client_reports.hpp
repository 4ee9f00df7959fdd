#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/task.hpp"

namespace fedstride {

/// How many of a round's clients are reported individually in rounds.jsonl.
struct ClientReports {
  std::size_t most = std::numeric_limits<std::size_t>::max();
  std::uint64_t seed = 0;

  /// Reads "all", "none" or a number of clients. Throws Error (usage) for anything else.
  static ClientReports of(std::string_view text, std::uint64_t seed);

  /// The indices in `reports` of the reports to write, ascending. If there are more than `most`, those with the smallest numbers
  /// drawn at (client_reports, client), so that a chosen client is reported in every round in which it takes part.
  std::vector<std::size_t> chosen(std::span<const ClientReport> reports) const;
};

}  // namespace fedstride
