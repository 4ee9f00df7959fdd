#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride::test {

/// A table read from a file; each of `rows` has one field a column.
struct CsvTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows = {};
  /// The index of a column. Throws Error (failure) that names the existing ones.
  std::size_t column(std::string_view name) const;
};

inline std::size_t CsvTable::column(std::string_view name) const {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) throw failure("no column '" + std::string(name) + "'; there are: " + joined(columns));
  return static_cast<std::size_t>(found - columns.begin());
}

/// Parses a table. Throws Error (failure) naming file and line: unclosed quotes, text beside quotes, a row of another length.
inline CsvTable parse_csv(std::string_view text, const std::string& name) {
  CsvTable table;
  std::size_t line = 1;
  std::size_t at = 0;
  const auto wrong = [&](const std::string& what) {
    return failure("'" + name + "', line " + std::to_string(line) + ": " + what);
  };
  const auto quoted = [&] {
    std::string field;
    for (++at; at < text.size(); ++at) {
      if (text[at] == '"' && text.substr(at + 1, 1) != "\"") break;
      if (text[at] == '"') ++at;
      if (text[at] == '\n') ++line;
      field += text[at];
    }
    if (at++ >= text.size()) throw wrong("a quoted field is not closed");
    return field;
  };
  const auto plain = [&] {
    const std::size_t begin = at;
    at = std::min(text.find_first_of(",\n\r\"", at), text.size());
    if (text.substr(at, 1) == "\"") throw wrong("a quote in a field without quotes");
    return std::string(text.substr(begin, at - begin));
  };
  while (at < text.size()) {
    std::vector<std::string> row;
    const std::size_t first_line = line;
    for (;;) {
      row.push_back(text.substr(at, 1) == "\"" ? quoted() : plain());
      if (text.substr(at, 1) != ",") break;
      ++at;
    }
    if (text.substr(at, 2) == "\r\n") ++at;
    if (at < text.size() && text[at++] != '\n') throw wrong("text after a quoted field");
    ++line;
    if (table.columns.empty()) {
      table.columns = std::move(row);
      continue;
    }
    if (row.size() != table.columns.size()) {
      line = first_line;
      throw wrong(std::to_string(row.size()) + " fields; the first line has " + std::to_string(table.columns.size()));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

inline CsvTable read_csv(const std::filesystem::path& path) { return parse_csv(read_file(path), path.string()); }

}  // namespace fedstride::test
