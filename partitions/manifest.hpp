#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "partitions/partitions.hpp"

namespace fedstride {

/// The number of rows of each class held by each client: [client][class].
std::vector<std::vector<std::size_t>> rows_per_class(const ClientRows& assignment, std::span<const std::uint16_t> labels,
                                                     int classes);

/// Identifies an assignment: the SHA-256 of the number of clients and, for each client, its size and rows.
std::string partition_hash(const ClientRows& assignment);

/// If there are more rows than this, or more clients than a tenth of this, a manifest keeps its lists in separate files.
inline constexpr std::size_t kMaxListed = 1'000'000;

/// The whole assignment as JSON: format, partition, settings, seed, hash, statistics (statistics.hpp), rows per class and client,
/// and the row lists, one line per client. `unused` is the number of training rows that no client holds. Rows are written with
/// their numbers in the data file, from `file_rows` (empty: unchanged). FromFile reads the text back.
std::string manifest_json(const Partitioner& partitioner, std::uint64_t seed, const ClientRows& assignment,
                          std::span<const std::uint16_t> labels, int classes, std::size_t unused = 0,
                          std::span<const std::uint32_t> file_rows = {});

/// Writes to `path` a manifest that FromFile reads back: manifest_json unless there are more rows than `most_listed` or more
/// clients than a tenth of it. In that case, quantiles of rows and classes per client replace the tables, and the lists are
/// stored next to the manifest as two NumPy arrays: STEM.rows.npy (all lists, concatenated) and STEM.sizes.npy (rows per client).
/// Throws Error (failure).
void write_manifest(const std::filesystem::path& path, const Partitioner& partitioner, std::uint64_t seed,
                    const ClientRows& assignment, std::span<const std::uint16_t> labels, int classes,
                    std::size_t most_listed = kMaxListed, std::size_t unused = 0, std::span<const std::uint32_t> file_rows = {});

/// A table of rows per class and client as UTF-8 text, at most 80 columns wide: one line per client and one cell per class (or
/// per group of classes if there are too many). A cell's shade shows its share of the fullest cell; counts are shown if they fit.
/// With more than 40 clients, it shows the first 20, then quantiles of sizes and of classes per client over all clients.
/// `class_names` may be empty; if any name is too long for a column, a list above the table gives the names.
std::string heat_map(const std::vector<std::vector<std::size_t>>& rows_per_class, std::span<const std::string> class_names);

}  // namespace fedstride
