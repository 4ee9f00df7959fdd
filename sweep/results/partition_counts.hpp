#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace fedstride {

/// The rows per class of each client out of a partition.json; of the file only as much is read as stands before its end.
/// Throws Error (failure) if it is not there or too large.
std::vector<std::vector<std::uint64_t>> read_partition_counts(const std::filesystem::path& path);

}  // namespace fedstride
