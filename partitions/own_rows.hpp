#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "partitions/partitions.hpp"

namespace fedstride {

struct OwnRowsSettings {
  std::string roster;

  static constexpr auto kFields = fields(
      Field{"roster", &OwnRowsSettings::roster,
            "roster of clients that bring their own rows: for each, a line from 'fedstride data roster'", kFile, Shapes::work});
};

/// Rows that clients supply themselves and that the coordinator does not have. No rows are assigned; a roster gives the number
/// and the hash of each client's rows. For `fedstride serve` only (sim/prepare/setup.hpp).
struct OwnRows final : PartBase<PartitionPart, OwnRows, OwnRowsSettings> {
  static constexpr std::string_view kName = "own";
  static constexpr std::string_view kSummary = "rows that clients bring themselves, listed in a roster; only with serve";

  Dealing dealing() const override { return Dealing::given; }
  /// Throws Error (usage): there are no rows to assign.
  ClientRows assign(const PartitionInput& input) const override;
};

/// What is known in advance about a client that brings its own rows.
struct RosterLine {
  std::uint64_t rows = 0;
  std::string data_hash;                  ///< hash of its rows (load_own_rows)
  std::vector<std::string> columns = {};  ///< the names of a table's inputs, if it has a header
  /// How many of its users have each number of rows, if the rows name users; public like the number of rows.
  std::map<std::uint64_t, std::uint64_t> users = {};
};

/// One line of a roster: {"client": 2, "rows": 834, "data": "9f86...", "columns": ["age", "height"], "users": {"2": 417}}.
std::string roster_line(std::uint32_t client, const RosterLine& line);

/// Reads a roster: one line per client, in any order; empty lines are ignored. The result is indexed by client. Throws Error:
/// usage if no file is named or the number of clients differs; failure for a malformed line, a client out of range or listed
/// twice, or a number of rows that is not from 1 to 10^9.
std::vector<RosterLine> read_roster(const std::string& path, int clients);

}  // namespace fedstride
