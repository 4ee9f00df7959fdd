#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "data/dataset.hpp"

namespace fedstride {

/// Splits `size` training rows into those that train and those that validate: the nearest whole number to fraction x size
/// validate, drawn at (validation_split) from the seed alone. Both lists ascend. Throws Error (usage) unless
/// 0 <= fraction < 1 and a row is left for training.
std::pair<std::vector<Row>, std::vector<Row>> split_validation(std::size_t size, double fraction, std::uint64_t seed);

/// Returns `count` of `size` test rows, ascending, drawn at (evaluation_rows) from the seed alone: the same in every round.
/// Throws Error (usage) for more rows than there are.
std::vector<Row> draw_evaluation_rows(std::size_t size, std::size_t count, std::uint64_t seed);

/// Splits a set that comes as one file: a sixth of the rows (at least one) becomes the test part, the others stay, in
/// order, in the training part; where the data name clients, a sixth of each client's rows, rounded down; if no
/// client has six, a sixth of all, and of no client its first row, unless each has but one. Both parts know each row's number in
/// the file (Dataset::file_rows). Drawn at fixed addresses, so the test part is the same everywhere. At least two rows.
std::pair<Dataset, Dataset> split_test_part(Dataset data);

}  // namespace fedstride
