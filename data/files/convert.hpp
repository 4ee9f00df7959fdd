#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// The paths in a list that is separated by commas, or the path itself if it is there or has no comma.
std::vector<std::filesystem::path> listed_paths(const std::filesystem::path& path);

/// The files of a user's own data set.
struct OwnFiles {
  FileForm form = FileForm::automatic;
  std::vector<std::filesystem::path> train;  ///< idx: images and labels; pictures: a folder
  std::vector<std::filesystem::path> test;   ///< empty if there is no test part or the training files contain it
  bool are_clients = false;                  ///< each file has the rows of the client after which it is named
};

/// The client column of data in which each file has one client's rows.
inline constexpr std::string_view kFileColumn = "file";

/// Finds the files. `path` may be a list, separated by commas. `path` is a file, whose first bytes determine its format, or a folder, whose files are identified by name
/// (docs/data.md). Throws Error: failure listing the names it looks for if there are none, usage for a client column that the
/// format cannot have.
OwnFiles find_own_files(const std::filesystem::path& path, const ReadSettings& settings);

/// Writes data of any format but npz and csv to a file, as a NumPy archive whose arrays have the names that the settings give. The
/// file appears when it is complete, readable only by its owner. `words`: of sentences, if known. Starts `python3 -m
/// fedstride_convert`. Throws Error (failure; usage for settings that do not fit the data) in one line that names the file and the
/// key, or the command that installs what is missing.
void convert_data(const OwnFiles& data, const ReadSettings& settings, const std::vector<std::string>& words,
                  const std::filesystem::path& out);

/// A NumPy archive with the contents of data in another format.
struct Converted {
  std::filesystem::path path;        ///< valid while `memory` exists
  Descriptor memory = Descriptor();  ///< holds an archive that is in no folder
};

/// A file of this process's memory with these bytes.
Converted in_memory(std::span<const std::uint8_t> bytes);

/// The data as an archive that is kept with converted objects (data/kept_objects.hpp), under a name that follows from the contents
/// of the files, the settings and the converter's version. With `is_private`, or if $FEDSTRIDE_CACHE_LIMIT is 0, it is in this
/// process's memory alone.
Converted converted(const OwnFiles& data, const ReadSettings& settings, const std::vector<std::string>& words, bool is_private);

}  // namespace fedstride
