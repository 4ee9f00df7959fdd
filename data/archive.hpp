#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace fedstride {

/// Takes the named files out of a tar archive (gzipped or not), whatever folder they lie in there, and writes them into
/// `folder`; nothing else in the archive is touched. Throws Error (failure) if the archive is damaged, a file is not in
/// it or larger than 1 GiB, or cannot be written.
void unpack_files(const std::filesystem::path& archive, std::span<const std::string> names,
                  const std::filesystem::path& folder);

}  // namespace fedstride
