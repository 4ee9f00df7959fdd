#pragma once

#include <filesystem>

#include "data/dataset.hpp"

namespace fedstride {

/// A user's own table (table.hpp): `folder` is the file itself, or has train.csv and, if there is one, test.csv. Labels
/// count from 0; without a test file the test part is empty.
DataPair load_csv(const std::filesystem::path& folder);

}  // namespace fedstride
