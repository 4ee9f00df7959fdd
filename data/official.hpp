#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_folder.hpp"

namespace fedstride {

/// A data set's file and its SHA-256, as published by the authors.
struct OfficialFile {
  std::string_view name;    ///< in the set's folder
  std::string_view sha256;  ///< of the file or its contents
  bool of_contents = true;  ///< `sha256` is of the unpacked contents, gzipped or not; otherwise of the file itself
};

/// One file to download.
struct OfficialDownload {
  std::string_view url;
  std::string_view file;    ///< its name
  std::string_view sha256;  ///< of the downloaded file
};

/// The official source of a data set, with checksums. `files` are the final contents of its folder: the downloads themselves, or
/// the contents of the single archive (tar, gzipped) to download.
struct OfficialSet {
  std::string_view name;
  std::span<const OfficialFile> files;
  std::span<const OfficialDownload> downloads;
  bool is_archive = false;
};

/// The set with this name; nullptr if it is built in or a user's own.
const OfficialSet* official_set(std::string_view name);

/// True if the folder has every file of the set as published by its authors.
bool is_official(const OfficialSet& set, const std::filesystem::path& folder);

/// The existing files of the set, plain or gzipped, that differ from the published ones.
std::vector<std::filesystem::path> unofficial_files(const OfficialSet& set, const std::filesystem::path& folder);

/// Reads the data set and describes it: "official, N records (...)" or "readable, not official, N records (...)", with the files
/// that differ and the command to replace them; "built in, ..." for the synthetic one. Throws Error as load_dataset does.
std::string verify_dataset(std::string_view name, const DataOptions& options);

}  // namespace fedstride
