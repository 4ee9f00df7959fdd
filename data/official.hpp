#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "data/data_folder.hpp"

namespace fedstride {

/// SHA-256 of a data set's file as its authors publish it.
struct OfficialFile {
  std::string_view name;    ///< in the set's folder
  std::string_view sha256;  ///< of its contents
  bool of_contents = true;  ///< of what is inside, gzipped or not; else of the file as it is
};

/// Something to download.
struct OfficialDownload {
  std::string_view url;
  std::string_view file;    ///< what it is called
  std::string_view sha256;  ///< of the file as it is sent
};

/// Where a data set comes from and what it must be. `files` are what lies in its folder in the end: the downloads
/// themselves, or what is in the one archive (tar, gzipped) that is downloaded.
struct OfficialSet {
  std::string_view name;
  std::span<const OfficialFile> files;
  std::span<const OfficialDownload> downloads;
  bool is_archive = false;
};

/// The set of that name, or nullptr: built in, or a user's own.
const OfficialSet* official_set(std::string_view name);

/// Whether every file of the set lies in the folder and is what its authors publish.
bool is_official(const OfficialSet& set, const std::filesystem::path& folder);

/// Reads the data set and says what it is: "official, N records (...)" or "readable, not official, N records (...)";
/// "built in, ..." for the synthetic one. Throws Error as load_dataset does.
std::string verify_dataset(std::string_view name, const DataOptions& options);

/// SHA-256 of a file as it is. Throws Error (failure) if it cannot be read.
std::string file_sha256(const std::filesystem::path& path);

}  // namespace fedstride
