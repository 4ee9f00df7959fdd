#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "data/dataset.hpp"

namespace fedstride {

/// Which of `size` training rows train and which validate: the nearest whole number to fraction x size, drawn at
/// (validation_split) from the seed alone. Both lists ascend. Throws Error (usage) unless 0 <= fraction < 1 and a row
/// is left for training.
std::pair<std::vector<Row>, std::vector<Row>> split_validation(std::size_t size, double fraction, std::uint64_t seed);

/// For a set that comes as one file: every row, in order, in the training part, except a sixth (at least one), which
/// becomes the test part; drawn at a fixed address, so that everybody's test part is the same. At least two rows.
std::pair<Dataset, Dataset> split_test_part(Dataset data);

}  // namespace fedstride
