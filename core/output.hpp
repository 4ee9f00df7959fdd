#pragma once

#include <filesystem>

namespace fedstride {

/// Throws Error (failure, one line) unless a requested output can be written to this file now (write_file): its folder exists
/// and is writable, and so is the file, which the program does not keep in the folder of a run, a sweep, a client or an
/// authority. Must be called before the work that produces it. `own`: a folder that is or will be such a folder.
void check_output(const std::filesystem::path& path, const std::filesystem::path& own = {});

}  // namespace fedstride
