#pragma once

#include <filesystem>

#include "data/dataset.hpp"

namespace fedstride {

/// A user's own table (table.hpp): `folder` is the file itself, or has train.csv and, if there is one, test.csv. Labels
/// count from 0; without a test file a sixth of the rows is the test part (split.hpp).
DataPair load_csv(const std::filesystem::path& folder);

}  // namespace fedstride
