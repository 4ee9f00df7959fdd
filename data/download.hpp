#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/function_ref.hpp"
#include "data/official.hpp"

namespace fedstride {

/// Called repeatedly during a download with the file's name, the bytes received so far and the total (0 while unknown).
using DownloadProgress = function_ref<void(std::string_view file, std::uint64_t done, std::uint64_t total)>;

/// Downloads `url` (http, https, file) to `path`. Continues a partial download at `path` if the server supports it, otherwise
/// restarts. On return, the file's SHA-256 is `sha256`. Throws Error (failure) with one line for an error from the server or
/// network, a wrong checksum (nothing is left at `path`), a file of more than 1 GiB, or a full disk.
void download_file(const std::string& url, const std::filesystem::path& path, std::string_view sha256, DownloadProgress progress);

/// Downloads a data set to FOLDER/NAME. A nonempty `mirror` replaces the official address: it is the address of the file, if
/// there is only one, or of the folder that holds the files. Until all checksums match, everything stays in
/// FOLDER/.NAME.download, where the next attempt continues; then the files replace existing ones.
void get_dataset(const OfficialSet& set, const std::filesystem::path& folder, const std::string& mirror,
                 DownloadProgress progress);

}  // namespace fedstride
