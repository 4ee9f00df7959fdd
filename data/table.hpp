#pragma once

#include <filesystem>

#include "data/dataset.hpp"

namespace fedstride {

/// A text file of numbers, one example a line, the label last; gzipped or not. Separated by ';', ',' or tabs, whichever
/// the first line has (looked for in this order); blanks around numbers and empty lines do not count. A first line with
/// a field that is not a number is a header and skipped.
struct TableFormat {
  int columns = 0;      ///< features a line; 0: as many as the first line has
  int first_label = 0;  ///< the label that becomes class 0
  int classes = 0;      ///< labels are first_label ... first_label + classes - 1; 0: as many as the largest label says
};

/// Reads it all. Throws Error (failure) naming file, line and field: not a finite number, another number of columns, a
/// label that is no whole number or out of range, no example at all.
Dataset read_table(const std::filesystem::path& path, const TableFormat& format);

/// Sets mean and deviation of every column from the training rows; a constant column gets deviation 1.
void standardise(Dataset& train);

}  // namespace fedstride
