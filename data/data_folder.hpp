#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace fedstride {

/// What a user may say about where data lie.
struct DataOptions {
  std::string data_dir;  ///< --data-dir; empty: $FEDSTRIDE_DATA, else $XDG_CACHE_HOME/fedstride, else ~/.cache/fedstride
};

/// The folder in which each data set has a folder of its own name. Throws Error (failure) if nothing says where.
std::filesystem::path data_folder(const DataOptions& options);

/// The folder that holds a data set: the first of FOLDER/NAME, FOLDER/ALIAS, FOLDER/NAME/ALIAS and, if --data-dir was
/// given, --data-dir itself that has `file`, or `file` with ".gz" after it. Without --data-dir `system_folder` is looked
/// into last. Throws Error (failure), one line: what is missing, where it was looked for, `fedstride data get NAME`.
std::filesystem::path find_dataset(const DataOptions& options, std::string_view name, std::string_view file,
                                   std::initializer_list<std::string_view> aliases = {},
                                   std::string_view system_folder = {});

/// FOLDER/FILE, or FOLDER/FILE.gz if only that is there. Throws Error (failure) if neither is.
std::filesystem::path plain_or_gzipped(const std::filesystem::path& folder, std::string_view file);

}  // namespace fedstride
