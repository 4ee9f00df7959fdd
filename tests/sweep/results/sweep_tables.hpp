#pragma once

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>

#include "sweep/results/results.hpp"
#include "sweep/results/summary.hpp"
#include "tests/support/csv_table.hpp"

namespace fedstride::test {

/// All tables of a sweep in one text, without what a second run does not repeat.
inline std::string lasting_tables(const std::filesystem::path& sweep) {
  std::string text;
  for (const char* name : {"cells.csv", "rounds.csv", "clients.csv", "summary.csv", "expectations.csv"}) {
    const CsvTable table = read_csv(sweep / name);
    const auto add = [&](const std::vector<std::string>& row) {
      for (std::size_t i = 0; i < row.size(); ++i)
        if (std::ranges::find(kTimings, table.columns[i]) == std::end(kTimings)) text += row[i] + ';';
      text += '\n';
    };
    text += std::string(name) + '\n';
    add(table.columns);
    for (const auto& row : table.rows) add(row);
  }
  return text;
}

}  // namespace fedstride::test
