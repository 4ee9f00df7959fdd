#pragma once

#include <filesystem>

#include "data/dataset.hpp"

namespace fedstride {

/// UCI's covertype: covtype.data, gzipped or not; 54 columns and a label from 1 to 7 a line. The test part is
/// empty.
DataPair load_covertype(const std::filesystem::path& folder);

}  // namespace fedstride
