#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "data/files/read_settings.hpp"

namespace fedstride {

struct DataPair;

/// The user's options for locating data sets.
struct DataOptions {
  std::string data_dir = {};  ///< --data-dir; empty: $FEDSTRIDE_DATA, then $XDG_CACHE_HOME/fedstride, then ~/.cache/fedstride
  std::string data = {};      ///< --data: the file or folder of data set 'file'
  ReadSettings read = {};     ///< how to read a user's own file
  /// Instead of `data`: returns data set 'file' from a program's memory, without normalization or hash (like load_own_files).
  std::function<DataPair(const ReadSettings&)> brought = {};
};

/// The places where a data set may be found.
struct DataPlace {
  std::string_view name;                         ///< its folder's name
  std::string_view file;                         ///< a file that must exist, plain or with ".gz" appended
  std::array<std::string_view, 2> aliases = {};  ///< other names of its folder, used in the archive or by other programs
  std::string_view system_folder = {};           ///< the folder of a system package
};

/// $XDG_CACHE_HOME/fedstride, otherwise ~/.cache/fedstride; empty if neither variable is set.
std::filesystem::path cache_folder();

/// The folder with a subfolder for each data set. Throws Error (failure) if no option or variable specifies one.
std::filesystem::path data_folder(const DataOptions& options);

/// Returns the folder that holds a data set: the first that contains the place's file among FOLDER/NAME, FOLDER/ALIAS,
/// FOLDER/NAME/ALIAS and, if --data-dir was given, --data-dir itself. Without --data-dir, the system folder is tried last. Throws
/// Error (failure) with one line that names the missing file,
/// the places searched and a way to get the file.
std::filesystem::path find_dataset(const DataOptions& options, const DataPlace& place);

/// True if FOLDER/FILE or FOLDER/FILE.gz exists.
bool has_file(const std::filesystem::path& folder, std::string_view file);

/// FOLDER/FILE, or FOLDER/FILE.gz if only that exists. Throws Error (failure) if neither does.
std::filesystem::path plain_or_gzipped(const std::filesystem::path& folder, std::string_view file);

}  // namespace fedstride
