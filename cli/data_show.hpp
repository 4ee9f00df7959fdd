#pragma once

#include <string>

#include "data/data_folder.hpp"

namespace fedstride {

/// Says what a data set is: shape, type, answers with counts, natural clients and their sizes. `path` is the user's own file or
/// folder; if it is empty, it is the data set of that name. `sheet`: also writes a sheet of pictures to this PNG file, unless
/// it is empty. Throws Error.
void show_data(const std::string& path, const std::string& name, DataOptions options, const std::string& sheet, bool json);

}  // namespace fedstride
