#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "partitions/client_rows.hpp"

namespace fedstride {

/// Measures of client heterogeneity. Entropies are in bits; "the whole" denotes all rows that clients hold.
struct PartitionStatistics {
  std::size_t clients = 0;
  std::size_t rows = 0;  ///< over all clients
  std::size_t least = 0;
  double median = 0;  ///< of client sizes; the mean of the middle two if their number is even
  std::size_t most = 0;
  double gini = 0;           ///< of client sizes: 0 if all are equal, (clients - 1) / clients if one has all rows
  double mean_entropy = 0;   ///< of the clients' label distributions, averaged over clients that hold rows
  double entropy = 0;        ///< of the whole's label distribution
  double mean_distance = 0;  ///< mean distance between a client and the whole, over clients that hold rows
  double largest_distance = 0;
};

/// Computes the statistics in time and memory linear in rows, clients and classes, not in their products. The distance is the
/// earth mover's distance of Zhao et al. 2018: the sum over classes of |p_k(class) - p(class)|, from 0 to 2.
PartitionStatistics partition_statistics(const ClientRows& assignment, std::span<const std::uint16_t> labels, int classes);

/// The statistics as three lines of text, and as a JSON object.
std::string statistics_text(const PartitionStatistics& statistics);
std::string statistics_json(const PartitionStatistics& statistics);

}  // namespace fedstride
