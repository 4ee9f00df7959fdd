#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "partitions/partitions.hpp"

namespace fedstride {

/// The number of rows of each class that each client holds: [client][class].
std::vector<std::vector<std::size_t>> rows_per_class(const ClientRows& assignment, std::span<const std::uint16_t> labels,
                                                     int classes);

/// Identity of an assignment: SHA-256 over the number of clients and, for each, its size and its rows.
std::string partition_hash(const ClientRows& assignment);

/// Rows above which a manifest has its lists beside it; so has one of more than a tenth as many clients.
inline constexpr std::size_t kMaxListed = 1'000'000;

/// The whole assignment as JSON: format, partition, settings, seed, hash, statistics (statistics.hpp), rows per class per client and
/// the row lists, one line a client. `unused` is the number of training rows that no client holds. Rows are written by `file_rows`,
/// their numbers in the data's file (empty: the same). FromFile reads it back.
std::string manifest_json(const Partitioner& partitioner, std::uint64_t seed, const ClientRows& assignment,
                          std::span<const std::uint16_t> labels, int classes, std::size_t unused = 0,
                          std::span<const std::uint32_t> file_rows = {});

/// Writes a manifest that FromFile reads back to `path`: manifest_json, or, with more rows than `most_listed` or a tenth as many clients, a
/// summary (quantiles of rows and of classes per client instead of the tables) that names two NumPy arrays beside it,
/// STEM.rows.npy (all lists, one after another) and STEM.sizes.npy (rows of each client). Throws Error (failure).
void write_manifest(const std::filesystem::path& path, const Partitioner& partitioner, std::uint64_t seed,
                    const ClientRows& assignment, std::span<const std::uint16_t> labels, int classes,
                    std::size_t most_listed = kMaxListed, std::size_t unused = 0, std::span<const std::uint32_t> file_rows = {});

}  // namespace fedstride
