#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace fedstride {

/// Replaces `path` by `contents`, or leaves it as it was: written to a temporary name beside it, synced, renamed, and
/// the folder synced. Throws Error (failure) that names the path and the reason; the temporary file is removed then.
void write_file(const std::filesystem::path& path, std::string_view contents);

/// Adds `line` and a newline at the end of the file and syncs it. Throws Error (failure), the file as it was where that
/// is possible.
void append_line(const std::filesystem::path& path, std::string_view line);

/// The whole file. Throws Error (failure) if it cannot be read or is larger than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 32);

}  // namespace fedstride
