#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace fedstride {

/// Reads the rows per class of each client from a partition.json, none of a large one that is a summary; stops reading the
/// file after them. Throws Error (failure)
/// if they are missing or too many.
std::vector<std::vector<std::uint64_t>> read_partition_counts(const std::filesystem::path& path);

}  // namespace fedstride
