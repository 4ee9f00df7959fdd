#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace fedstride {

/// Replaces `path` by `contents`, or leaves it as it was: written to a temporary name beside it, synced, renamed, and
/// the folder synced. Throws Error (failure) that names the path and the reason; the temporary file is removed then.
void write_file(const std::filesystem::path& path, std::string_view contents);

/// A file to be written, and who may do what with it (0600: its owner alone, from its first byte on).
struct NewFile {
  std::string name;
  std::string contents;
  mode_t mode = 0644;
};

/// As write_file does it, for files of one folder: all are synced at once, then renamed in this order. Costs about as much
/// as a few calls of write_file, however many files these are. Throws Error (failure); those renamed by then stay.
void write_files(const std::filesystem::path& folder, std::span<const NewFile> files);

/// Adds `line` and a newline at the end of the file and syncs it. Throws Error (failure), the file as it was where that
/// is possible.
void append_line(const std::filesystem::path& path, std::string_view line);

/// The whole file. Throws Error (failure) if it cannot be read or is larger than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 32);

/// False for a link to nothing, and where it cannot be found out.
bool is_there(const std::filesystem::path& path);

}  // namespace fedstride
