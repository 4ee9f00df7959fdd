#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fedstride {

/// The numbers of a CSV file with a header, or of a NumPy archive (.npz) with an array for each column.
struct NumberTable {
  std::vector<std::string> columns = {};
  std::vector<std::vector<double>> lines = {};  ///< finite numbers, none below 0
};

/// Reads the file `path`, given by the setting `key`. Throws Error (usage), with the line and value, if the file is a pickle or
/// otherwise not such a table, or if a column is not in `known`.
NumberTable read_number_table(const std::string& key, const std::string& path, const std::vector<std::string>& known);

}  // namespace fedstride
