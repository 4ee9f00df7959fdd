#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "partitions/partitions.hpp"

namespace fedstride {

/// The number of rows of each class that each client holds: [client][class].
std::vector<std::vector<std::size_t>> rows_per_class(const Assignment& assignment, std::span<const std::uint16_t> labels,
                                                     int classes);

/// Identity of an assignment: SHA-256 over the number of clients and, for each, its size and its rows.
std::string partition_hash(const Assignment& assignment);

/// The whole assignment as JSON: format, partition, settings, seed, hash, rows per class per client and the row lists,
/// one line a client. FromFile reads it back.
std::string manifest_json(const Partitioner& partitioner, std::uint64_t seed, const Assignment& assignment,
                          std::span<const std::uint16_t> labels, int classes);

}  // namespace fedstride
