#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace fedstride {

/// Extracts the named files of a tar archive (gzipped or not), from any folder in it, and writes them into `folder`; nothing
/// else in the archive is extracted. Throws Error (failure) if the archive is damaged, a file is not in
/// it or larger than 1 GiB, or cannot be written.
void unpack_files(const std::filesystem::path& archive, std::span<const std::string> names, const std::filesystem::path& folder);

}  // namespace fedstride
