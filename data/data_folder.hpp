#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "data/files/read_settings.hpp"

namespace fedstride {

struct DataPair;

/// The user's options for the location of data sets.
struct DataOptions {
  std::string data_dir = {};  ///< --data-dir; empty: $FEDSTRIDE_DATA, then $XDG_CACHE_HOME/fedstride, then ~/.cache/fedstride
  std::string data = {};      ///< --data: the file or the folder of the data set 'file'
  ReadSettings read = {};     ///< how to read a user's own file
  /// Instead of `data`: the data set 'file' in a program's memory, without normalization and hash (load_own_files).
  std::function<DataPair(const ReadSettings&)> brought = {};
};

/// The places where a data set may be.
struct DataPlace {
  std::string_view name;                         ///< its folder's name
  std::string_view file;                         ///< a file that must exist, plain or with ".gz" appended
  std::array<std::string_view, 2> aliases = {};  ///< other names of its folder, in the archive or in other programs
  std::string_view system_folder = {};           ///< the folder of a system package
  bool is_own = false;                           ///< a user's own: not in `fedstride data get`
};

/// $XDG_CACHE_HOME/fedstride, otherwise ~/.cache/fedstride; empty if neither variable is set.
std::filesystem::path cache_folder();

/// The folder with a folder for each data set, named after it. Throws Error (failure) if nothing names one.
std::filesystem::path data_folder(const DataOptions& options);

/// The folder that holds a data set: the first of FOLDER/NAME, FOLDER/ALIAS, FOLDER/NAME/ALIAS and, if --data-dir was
/// given, --data-dir itself that has the place's file. Without --data-dir the system folder is tried last.
/// A user's own set may also be one file named by --data-dir, which is returned.
/// Throws Error (failure), one line: the missing file, the places searched, how to get it.
std::filesystem::path find_dataset(const DataOptions& options, const DataPlace& place);

/// True if FOLDER/FILE or FOLDER/FILE.gz exists.
bool has_file(const std::filesystem::path& folder, std::string_view file);

/// FOLDER/FILE, or FOLDER/FILE.gz if only that exists. Throws Error (failure) if neither does.
std::filesystem::path plain_or_gzipped(const std::filesystem::path& folder, std::string_view file);

}  // namespace fedstride
