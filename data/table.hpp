#pragma once

#include <filesystem>

#include "data/dataset.hpp"

namespace fedstride {

/// A text file of numbers, one example a line, the label last; gzipped or not. Separated by ';', ',' or tabs: the
/// first of these, in this order, that the first line has. Blanks around numbers and empty lines are ignored. A first line
/// without a number is a header and is skipped; one in which only some fields are numbers is neither, and refused.
struct TableFormat {
  int columns = 0;      ///< features a line; 0: the number in the first line
  int first_label = 0;  ///< the label that becomes class 0
  int classes = 0;      ///< labels are first_label ... first_label + classes - 1; 0: as the largest label requires
};

/// Reads the table. Throws Error (failure) naming file, line and field: not a finite number, another number of columns, a
/// label that is not a whole number or out of range, no example at all.
Dataset read_table(const std::filesystem::path& path, const TableFormat& format);

/// Sets mean and deviation of every column, or of every channel of pictures and other examples with height and width, from the training
/// rows; a constant one gets deviation 1. Tokens have none.
void standardise(Dataset& train);

}  // namespace fedstride
