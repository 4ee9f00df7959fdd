#pragma once

#include <filesystem>

namespace fedstride {

/// Throws Error (failure, one line) unless a requested output can be written to this file now (write_file). Its folder must exist
/// and be writable, and an existing file must be writable. The file must not be one that the program keeps in the folder of a
/// run, a sweep, a client or an authority. Call this before the work that produces the output. `own` is such a folder or will
/// become one, and need not exist yet.
void check_output(const std::filesystem::path& path, const std::filesystem::path& own = {});

}  // namespace fedstride
