#include "sweep/results/csv.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;

Error cannot(const std::filesystem::path& path, int error) {
  return failure("cannot write '" + path.string() + "': " + std::strerror(error));
}

template <class Number>
void append_number(std::string& buffer, Number value) {
  char digits[64];
  buffer.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

CsvFile::CsvFile(std::filesystem::path path, const std::vector<std::string>& columns)
    : path_(std::move(path)), temporary_(path_), columns_(columns.size()) {
  temporary_ += ".tmp";
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) throw cannot(path_, errno);
  for (const auto& column : columns) text(column);
}

CsvFile::~CsvFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void CsvFile::begin_field() {
  if (field_ > 0) buffer_ += ',';
}

void CsvFile::end_field() {
  if (++field_ < columns_) return;
  field_ = 0;
  buffer_ += '\n';
  if (buffer_.size() >= kBuffer) flush();
}

CsvFile& CsvFile::text(std::string_view field) {
  begin_field();
  const auto special = [](char letter) { return letter == ',' || letter == '"' || letter == '\r' || letter == '\n'; };
  if (std::ranges::none_of(field, special)) {
    buffer_ += field;
  } else {
    buffer_ += '"';
    for (const char letter : field) buffer_.append(letter == '"' ? 2 : 1, letter);
    buffer_ += '"';
  }
  end_field();
  return *this;
}

CsvFile& CsvFile::number(double value) {
  begin_field();
  if (std::isfinite(value)) append_number(buffer_, value);
  end_field();
  return *this;
}

CsvFile& CsvFile::whole(std::uint64_t value) {
  begin_field();
  append_number(buffer_, value);
  end_field();
  return *this;
}

void CsvFile::flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t written = ::write(fd_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw cannot(path_, errno);
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void CsvFile::finish() {
  flush();
  if (::fsync(fd_) != 0) throw cannot(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw cannot(path_, errno);
  ::close(fd_);
  fd_ = -1;
}

std::size_t CsvTable::column(std::string_view name) const {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) throw failure("no column '" + std::string(name) + "'; there are: " + joined(columns));
  return static_cast<std::size_t>(found - columns.begin());
}

CsvTable parse_csv(std::string_view text, const std::string& name) {
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

CsvTable read_csv(const std::filesystem::path& path) { return parse_csv(read_file(path), path.string()); }

}  // namespace fedstride
