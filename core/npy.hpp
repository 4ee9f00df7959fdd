#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace fedstride {

// One-dimensional arrays in NumPy's file format, version 1.0 (numpy.lib.format): np.load reads them, and np.save writes them.

/// Writes the numbers as an array of '<u4'. Throws Error (failure).
void write_npy(const std::filesystem::path& path, std::span<const std::uint32_t> numbers);

/// Reads an array of '<u4' with at most `most` numbers. Throws Error (failure) for anything else, before allocating the array.
std::vector<std::uint32_t> read_npy(const std::filesystem::path& path, std::uint64_t most);

}  // namespace fedstride
