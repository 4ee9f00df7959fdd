#pragma once

#include <filesystem>

namespace fedstride {

/// Throws Error (failure, one line) unless an output that somebody asked for can be written to this file now (write_file): its folder
/// is there and can be written to, and so can the file, which is none that the program keeps in the folder of a run, a sweep, a client or
/// an authority. To be called before the work whose result it is. `own`: a folder that is such a one, or will be.
void check_output(const std::filesystem::path& path, const std::filesystem::path& own = {});

}  // namespace fedstride
