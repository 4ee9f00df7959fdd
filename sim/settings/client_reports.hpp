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

  /// Returns the indices in `reports` of the reports to write, ascending. If there are more than `most`, keeps the clients with
  /// the smallest draws at (client_reports, client), which are the same in every round.
  std::vector<std::size_t> chosen(std::span<const ClientReport> reports) const;
};

/// Sums and means over a round's client reports (ReportRule::summed, averaged), and the share of rejected steps.
class ClientTotals {
 public:
  ClientTotals();
  /// Adds one client's value of the field with this name; ignores values that are not finite and fields without a total.
  void add(std::string_view name, double value);
  /// Calls visit(name in rounds.jsonl, value, whether it is a sum) for each field added; the value is NaN if none was finite.
  void visit(function_ref<void(std::string_view, double, bool)> visit) const;

 private:
  /// Sums differences from the first value, so the mean of equal numbers is exact.
  struct Total {
    std::string_view of_client;  ///< name in the clients' reports
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
