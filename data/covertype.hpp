#pragma once

#include <filesystem>

#include "data/dataset.hpp"

namespace fedstride {

/// UCI's covertype: covtype.data, gzipped or not; 54 columns and a label from 1 to 7 a line. A sixth of the rows is
/// the test part (split.hpp).
DataPair load_covertype(const std::filesystem::path& folder);

}  // namespace fedstride
