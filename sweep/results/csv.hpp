#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"

namespace fedstride {

/// Writes a table in RFC 4180 format, with quotes only if needed and lines ending in '\n'. Writes a temporary file, which
/// finish() renames, so readers see either the old or the new table. Holds only a few rows in memory. Throws Error (failure).
class CsvFile {
 public:
  CsvFile(std::filesystem::path path, const std::vector<std::string>& columns);
  ~CsvFile();
  CsvFile(const CsvFile&) = delete;
  CsvFile& operator=(const CsvFile&) = delete;

  /// Writes the next field; a row ends after as many fields as there are columns.
  CsvFile& text(std::string_view contents);
  CsvFile& number(double value);  ///< writes the shortest text that reads back as the same number; an empty field unless finite
  CsvFile& whole(std::uint64_t value);
  CsvFile& nothing() { return text({}); }
  void finish();

 private:
  CsvFile& field(std::string_view contents);
  void flush();

  std::filesystem::path path_;
  std::size_t columns_;
  std::size_t field_ = 0;
  std::string buffer_;
  Temporary temporary_;
};

}  // namespace fedstride
