#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/client_report.hpp"
#include "core/function_ref.hpp"

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

/// A round's numbers from its clients' reports (ReportRule::summed, averaged), and the share of undone steps.
class ClientTotals {
 public:
  ClientTotals();
  /// Adds a number of one client, by its name in rounds.jsonl; ignores one that is not finite or has no counterpart in the round.
  void add(std::string_view name, double value);
  /// Calls visit(name, value, true if it is a sum) for each added number; NaN: none was finite.
  void visit(function_ref<void(std::string_view, double, bool)> visit) const;

 private:
  /// Sums differences from the first value, so that the mean of equal numbers is exact.
  struct Total {
    std::string_view of_client;  ///< name of the clients' number
    std::string_view name;
    bool is_sum = false;
    bool was_added = false;
    double first = 0;
    double over_first = 0;
    double count = 0;
  };
  std::vector<Total> totals_;
};

}  // namespace fedstride
