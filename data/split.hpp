#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/dataset.hpp"

namespace fedstride {

// Each row is drawn at its own address, so adding a row does not affect where others go.

/// Splits `size` rows into training and validation rows: each is a validation row with probability `fraction`, drawn at
/// (validation_split, row) from the seed. Both lists are ascending. Throws Error (usage) unless 0 <= fraction < 1 and a row is
/// left for training.
std::pair<std::vector<Row>, std::vector<Row>> split_validation(std::size_t size, double fraction, std::uint64_t seed);

/// Returns, in ascending order, the `count` of `size` test rows with the smallest draws at (evaluation_rows, row): the same in
/// every round. Throws Error (usage) if `count` exceeds `size`.
std::vector<Row> draw_evaluation_rows(std::size_t size, std::size_t count, std::uint64_t seed);

/// Splits a set from one file: each row goes to the test part with probability 1/6, except the first one or, if the data have
/// clients, the first of each client; the test part gets at least one row. Both parts keep each row's number in the file
/// (Dataset::file_rows). A row's draw depends on its number in the file, or on its client's name and its number among the
/// client's rows, under a fixed seed, so the test part is the same everywhere. Requires at least two rows.
std::pair<Dataset, Dataset> split_test_part(Dataset data);

/// Drops every example except `rows`, which are ascending, as if the file had no others: they are renumbered from 0.
void drop_all_but(Dataset& data, std::span<const Row> rows);

/// Drops every example except `rows`. Rows keep their numbers, and thus their draws; the other rows must no longer be used, and
/// size() counts only `rows`.
void keep_rows(Dataset& data, std::span<const Row> rows);

}  // namespace fedstride
