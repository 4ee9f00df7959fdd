#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/dataset.hpp"

namespace fedstride {

// Each row is drawn at an address of its own: one row more changes where no other row goes.

/// Splits `size` training rows into those that train and those that validate: each validates with probability `fraction`, drawn at
/// (validation_split, row) from the seed. Both lists ascend. Throws Error (usage) unless 0 <= fraction < 1 and a row is left for
/// training.
std::pair<std::vector<Row>, std::vector<Row>> split_validation(std::size_t size, double fraction, std::uint64_t seed);

/// Returns the `count` of `size` test rows with the smallest draws at (evaluation_rows, row), ascending: the same in every round.
/// Throws Error (usage) for more rows than there are.
std::vector<Row> draw_evaluation_rows(std::size_t size, std::size_t count, std::uint64_t seed);

/// Splits a set that comes as one file: each row goes to the test part with probability 1/6, but for the first one, or, where the
/// data name clients, the first of each client; one row goes there at least. Both parts know each row's number in the file
/// (Dataset::file_rows). A row is drawn by its number in the file, or by its client's name and its number there, under a fixed
/// seed, so the test part is the same everywhere. At least two rows.
std::pair<Dataset, Dataset> split_test_part(Dataset data);

/// Drops every example but `rows`, which ascend, as if the file had no others: they are numbered from 0.
void drop_all_but(Dataset& data, std::span<const Row> rows);

/// Drops every example but `rows`. Rows keep their numbers, and so their draws; the other rows must not be used any more,
/// and size() counts those that remain.
void keep_rows(Dataset& data, std::span<const Row> rows);

}  // namespace fedstride
