#include "partitions/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "core/json.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

double entropy_term(double share) { return share > 0 ? -share * std::log2(share) : 0; }

/// G = 2 sum_i i x_i / (n sum_i x_i) - (n + 1) / n, x ascending, i from 1.
double gini_of(const std::vector<std::size_t>& ascending, std::size_t sum) {
  if (sum == 0) return 0;
  const auto count = static_cast<double>(ascending.size());
  double ranked = 0;
  for (std::size_t i = 0; i < ascending.size(); ++i) ranked += static_cast<double>(i + 1) * static_cast<double>(ascending[i]);
  return 2 * ranked / (count * static_cast<double>(sum)) - (count + 1) / count;
}

std::string to_places(double value, int places) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  return text;
}

}  // namespace

PartitionStatistics partition_statistics(const ClientRows& assignment, std::span<const std::uint16_t> labels, int classes) {
  PartitionStatistics result{.clients = assignment.size(), .rows = assignment.row_count()};
  if (result.rows == 0) return result;
  std::vector<double> whole(static_cast<std::size_t>(classes), 0);
  for (const std::uint32_t row : assignment.all_rows()) ++whole[labels[row]];
  for (double& share : whole) {
    share /= static_cast<double>(result.rows);
    result.entropy += entropy_term(share);
  }

  std::vector<std::size_t> sizes;
  std::vector<std::size_t> counts(whole.size(), 0);
  std::vector<std::uint16_t> held;  // the classes of one client
  double holders = 0;
  for (const auto& rows : assignment) {
    sizes.push_back(rows.size());
    if (rows.empty()) continue;
    ++holders;
    for (const std::uint32_t row : rows)
      if (counts[labels[row]]++ == 0) held.push_back(labels[row]);
    std::sort(held.begin(), held.end());  // so that sums do not depend on the order of rows
    double distance = 0;
    double elsewhere = 1;  // overall share of the classes the client does not hold
    for (const std::uint16_t label : held) {
      const double share = static_cast<double>(counts[label]) / static_cast<double>(rows.size());
      result.mean_entropy += entropy_term(share);
      distance += std::abs(share - whole[label]);
      elsewhere -= whole[label];
      counts[label] = 0;
    }
    distance += std::max(elsewhere, 0.0);
    result.mean_distance += distance;
    result.largest_distance = std::max(result.largest_distance, distance);
    held.clear();
  }
  result.mean_entropy /= holders;
  result.mean_distance /= holders;

  std::sort(sizes.begin(), sizes.end());
  result.least = sizes.front();
  result.most = sizes.back();
  result.median = (static_cast<double>(sizes[(sizes.size() - 1) / 2]) + static_cast<double>(sizes[sizes.size() / 2])) / 2;
  result.gini = gini_of(sizes, result.rows);
  return result;
}

std::string statistics_text(const PartitionStatistics& statistics) {
  return "rows per client: min " + std::to_string(statistics.least) + ", median " + number_text(statistics.median) + ", max " +
         std::to_string(statistics.most) + "; Gini coefficient " + to_places(statistics.gini, 3) +
         "\nlabel entropy: " + to_places(statistics.mean_entropy, 3) + " bits (mean over clients), " +
         to_places(statistics.entropy, 3) + " bits (all rows)\nearth mover's distance from client labels to all labels: mean " +
         to_places(statistics.mean_distance, 3) + ", largest " + to_places(statistics.largest_distance, 3) + "\n";
}

std::string statistics_json(const PartitionStatistics& statistics) {
  Json json;
  json["rows"] = statistics.rows;
  json["least"] = statistics.least;
  json["median"] = statistics.median;
  json["most"] = statistics.most;
  json["gini"] = statistics.gini;
  json["mean_label_entropy_bits"] = statistics.mean_entropy;
  json["label_entropy_bits"] = statistics.entropy;
  json["mean_earth_movers_distance"] = statistics.mean_distance;
  json["largest_earth_movers_distance"] = statistics.largest_distance;
  return dump_json(json);
}

}  // namespace fedstride
