#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "data/files/read_settings.hpp"
#include "data/input_file.hpp"

namespace fedstride {

/// Splits a line, without its LF, at the separators, if its record lies there as it is: ASCII without quotes, in
/// CsvRecords::kMaxRecordBytes. Returns false for others. Fields are without surrounding blanks.
bool split_plain_line(std::string_view line, char separator, std::vector<std::string_view>& fields);

/// The records of a text table, gzipped or not (RFC 4180). Fields are separated by ';', ',' or tabs, whichever the first record
/// has outside quotes; commas between digits do not separate fields if there are tabs. A field in double quotes may hold
/// separators, doubled quotes and line breaks, which become blanks. A line ends with LF, CR LF or CR. A byte order mark and blank
/// lines are skipped.
class CsvRecords {
 public:
  static constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 20;

  /// With `refuses` false, records keep bytes that are not in the encoding, or lose them.
  /// `name`: for messages, in place of the path.
  explicit CsvRecords(const std::filesystem::path& path, Encoding encoding = Encoding::utf_8, bool refuses = true,
                      std::string name = {});

  /// Reads the fields of the next record, without surrounding blanks; they are valid until the next call. Returns false after the
  /// last record. Throws Error (failure) with file and line for a NUL byte, UTF-16, text that is not in the encoding, a quote that is not closed or is followed by
  /// text, or more than kMaxRecordBytes.
  bool next(std::vector<std::string_view>& fields);
  /// The whole lines that follow, of about so many bytes or fewer; valid until the next call. They are not yet read: begin_line()
  /// begins each of those that are read outside, and skip() goes past them.
  std::string_view ahead(std::size_t bytes);
  void begin_line() { line_ = next_line_++; }
  void skip(std::size_t bytes) { at_ += bytes; }
  char separator() const { return separator_; }
  /// True if the last record was in the encoding.
  bool is_decoded() const { return is_decoded_; }
  /// The line on which this record begins, from 1.
  std::size_t line() const { return line_; }
  /// "'path'", for messages.
  const std::string& name() const { return name_.empty() ? file_.name() : name_; }

 private:
  static constexpr int kEnd = -1;

  Error wrong(const std::string& what) const;
  bool fill();
  int peek() { return at_ < filled_ || fill() ? bytes_[at_] : kEnd; }
  void add(std::size_t count);
  bool end_line();
  void read_quoted();
  void read_plain();
  bool read_in_place(std::vector<std::string_view>& fields);
  bool read_record();
  void decode();

  InputFile file_;
  Encoding encoding_;
  bool refuses_;
  std::string name_;
  bool is_decoded_ = true;
  std::vector<std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  char separator_ = ',';
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
  std::string text_;               ///< the record's fields, concatenated
  std::vector<std::size_t> ends_;  ///< where each field ends in text_
};

}  // namespace fedstride
