#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// The files of a data set of one's own.
struct OwnFiles {
  FileForm form = FileForm::automatic;
  std::vector<std::filesystem::path> train;
  std::vector<std::filesystem::path> test;  ///< empty: none, or within the others
};

/// Finds them: `path` is a file, whose form its first bytes say, or a folder, whose files their names do (docs/data.md). Throws Error (failure)
/// with the names that would be found.
OwnFiles find_own_files(const std::filesystem::path& path, FileForm asked);

/// Reads a data set of one's own; its test part is empty if it has none, and normalisation and hash are missing. `own_rows`: labels keep
/// their numbers, since they have meaning elsewhere. Throws Error (failure) naming file and key.
DataPair load_own_files(const std::filesystem::path& path, const ReadSettings& settings, bool own_rows = false);

/// The pairs of a file's beginning and its form.
FileForm form_of_bytes(const std::filesystem::path& file);

}  // namespace fedstride
