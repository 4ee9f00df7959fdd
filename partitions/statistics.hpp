#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "partitions/client_rows.hpp"

namespace fedstride {

/// Numbers that say how unequal clients are. Entropies are in bits; the whole is all rows that clients hold.
struct PartitionStatistics {
  std::size_t clients = 0;
  std::size_t rows = 0;  ///< of all clients together
  std::size_t least = 0;
  double median = 0;  ///< of the clients' sizes; between two, their mean
  std::size_t most = 0;
  double gini = 0;           ///< of the clients' sizes: 0 if all are equal, (clients - 1) / clients if one has all rows
  double mean_entropy = 0;   ///< of the clients' label distributions, the mean over clients that hold rows
  double entropy = 0;        ///< of the whole's label distribution
  double mean_distance = 0;  ///< of the clients' label distributions to the whole's (label_distance), over clients that hold rows
  double largest_distance = 0;
};

/// Computes them in time and memory that grow with rows, clients and classes, not with their products. The distance is the earth
/// mover's distance of Zhao et al. 2018: the sum over the classes of |p_k(class) - p(class)|, from 0 to 2.
PartitionStatistics partition_statistics(const ClientRows& assignment, std::span<const std::uint16_t> labels, int classes);

/// The same as text, three lines, and as an object of JSON.
std::string statistics_text(const PartitionStatistics& statistics);
std::string statistics_json(const PartitionStatistics& statistics);

}  // namespace fedstride
