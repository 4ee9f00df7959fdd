#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fedstride {

/// The numbers of a CSV file with a header, or of a NumPy archive (.npz) with an array for each column.
struct NumberTable {
  std::vector<std::string> columns = {};
  std::vector<std::vector<double>> lines = {};  ///< numbers from 0, all finite
};

/// Reads `path`, named by the setting `key`. Throws Error (usage), naming line and value, for a file that is not such a table, a
/// pickle, or a column not among `known`.
NumberTable read_number_table(const std::string& key, const std::string& path, const std::vector<std::string>& known);

}  // namespace fedstride
