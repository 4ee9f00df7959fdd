#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Rows that the clients bring themselves and the coordinator does not have. No rows are assigned; a roster gives the number
/// and the hash of each client's rows. For `fedstride serve` only (run/setup.hpp).
struct OwnRows {
  std::string roster;

  static constexpr std::string_view kName = "own";
  static constexpr std::string_view kSummary = "rows that the clients bring themselves, told by a roster; with serve alone";
  static constexpr Dealing kDealing = Dealing::given;
  static constexpr auto kFields = std::tuple{
      Field{"roster", &OwnRows::roster, "the clients that bring their own rows: a line of 'fedstride data roster' for each",
            kFile},
  };

  /// Throws Error (usage), since there are no rows to assign.
  Assignment assign(const PartitionInput& input) const;
};

/// The facts known beforehand about a client that brings its own rows.
struct RosterLine {
  std::uint64_t rows = 0;
  std::string data_hash;  ///< of its rows (load_own_rows)
};

/// One line of a roster: {"client": 2, "rows": 834, "data": "9f86..."}.
std::string roster_line(std::uint32_t client, const RosterLine& line);

/// Reads a roster: a line a client, in any order; empty lines are ignored. The result is indexed by client. Throws Error:
/// usage if no file is named or it has another number of clients; failure for a malformed line, a client that is there
/// twice or out of range, no rows or more than 10^9.
std::vector<RosterLine> read_roster(const std::string& path, int clients);

}  // namespace fedstride
