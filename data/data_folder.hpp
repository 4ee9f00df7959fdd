#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

namespace fedstride {

/// What a user may say about where data lie.
struct DataOptions {
  std::string
      data_dir;  ///< --data-dir; empty: $FEDSTRIDE_DATA, else $XDG_CACHE_HOME/fedstride, else ~/.cache/fedstride
};

/// Where a data set may lie.
struct DataPlace {
  std::string_view name;                         ///< its folder's name
  std::string_view file;                         ///< a file that must be there, plain or with ".gz" after it
  std::array<std::string_view, 2> aliases = {};  ///< other names of its folder: the archive's own, other programs'
  std::string_view system_folder = {};           ///< where a package of the system puts it
  bool is_own = false;                           ///< a user's own: not to be had by `fedstride data get`
};

/// The folder in which each data set has a folder of its own name. Throws Error (failure) if nothing says where.
std::filesystem::path data_folder(const DataOptions& options);

/// The folder that holds a data set: the first of FOLDER/NAME, FOLDER/ALIAS, FOLDER/NAME/ALIAS and, if --data-dir was
/// given, --data-dir itself that has the place's file. Without --data-dir the system folder is looked into last.
/// A user's own set may also be one file, which --data-dir names: it is returned.
/// Throws Error (failure), one line: what is missing, where it was looked for, how to get it.
std::filesystem::path find_dataset(const DataOptions& options, const DataPlace& place);

/// Whether FOLDER/FILE or FOLDER/FILE.gz is there.
bool has_file(const std::filesystem::path& folder, std::string_view file);

/// FOLDER/FILE, or FOLDER/FILE.gz if only that is there. Throws Error (failure) if neither is.
std::filesystem::path plain_or_gzipped(const std::filesystem::path& folder, std::string_view file);

}  // namespace fedstride
