#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fedstride {

/// Writes a table in RFC 4180 format: quotes if needed, '\n' at the end of a line. Writes beside the file and replaces it in
/// finish(), so that readers see the old table or the new one. Holds a few rows in memory. Throws Error (failure).
class CsvFile {
 public:
  CsvFile(std::filesystem::path path, const std::vector<std::string>& columns);
  ~CsvFile();
  CsvFile(const CsvFile&) = delete;
  CsvFile& operator=(const CsvFile&) = delete;

  /// The next field of the row; the row ends with as many as there are columns.
  CsvFile& text(std::string_view field);
  CsvFile& number(double value);  ///< shortest text that reads back; empty unless finite
  CsvFile& whole(std::uint64_t value);
  CsvFile& nothing() { return text({}); }
  void finish();

 private:
  void begin_field();
  void end_field();
  void flush();

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::size_t columns_;
  std::size_t field_ = 0;
  std::string buffer_;
  int fd_ = -1;
};

/// A table read from a file; each of `rows` has one field a column.
struct CsvTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows = {};
  /// The index of a column. Throws Error (failure) that names the existing ones.
  std::size_t column(std::string_view name) const;
};

/// Parses a table. Throws Error (failure) naming file and line: unclosed quotes, text beside quotes, a row of another length.
CsvTable parse_csv(std::string_view text, const std::string& name);
CsvTable read_csv(const std::filesystem::path& path);

}  // namespace fedstride
