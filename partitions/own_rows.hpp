#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Rows that clients bring themselves, and the coordinator has not got: there is nothing to deal out, the roster says how
/// many rows each client has and what their hash is. For `fedstride serve` alone (run/setup.hpp).
struct OwnRows {
  std::string roster;

  static constexpr std::string_view kName = "own";
  static constexpr std::string_view kSummary = "rows that the clients bring themselves, told by a roster; with serve alone";
  static constexpr auto kFields = std::tuple{
      Field{"roster", &OwnRows::roster, "the clients that bring their own rows: a line of 'fedstride data roster' for each",
            kFile},
  };

  /// Throws Error (usage): here are no rows.
  Assignment assign(const PartitionInput& input) const;
};

/// What is known beforehand of a client that brings its own rows.
struct RosterLine {
  std::uint64_t rows = 0;
  std::string data_hash;  ///< of its rows (load_own_rows)
};

/// One line of a roster: {"client": 2, "rows": 834, "data": "9f86..."}.
std::string roster_line(std::uint32_t client, const RosterLine& line);

/// Reads a roster: a line a client, in any order, empty lines do not count. By client. Throws Error: usage if no file is
/// named or it has another number of clients; failure for what is not such a line, a client that is there twice or out of
/// range, no rows or more than 10^9.
std::vector<RosterLine> read_roster(const std::string& path, int clients);

}  // namespace fedstride
