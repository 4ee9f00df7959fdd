#include "sweep/results/csv.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;

Error cannot(const std::filesystem::path& path, int error) {
  return failure("cannot write '" + path.string() + "': " + std::strerror(error));
}

}  // namespace

CsvFile::CsvFile(std::filesystem::path path, const std::vector<std::string>& columns)
    : path_(std::move(path)), columns_(columns.size()), temporary_(make_temporary(path_, 0644)) {
  if (!temporary_.file) throw cannot(path_, errno);
  for (const auto& column : columns) text(column);
}

CsvFile::~CsvFile() {
  if (temporary_.file) ::unlink(temporary_.path.c_str());
}

CsvFile& CsvFile::field(std::string_view contents) {
  if (field_ > 0) buffer_ += ',';
  buffer_ += contents;
  if (++field_ < columns_) return *this;
  field_ = 0;
  buffer_ += '\n';
  if (buffer_.size() >= kBuffer) flush();
  return *this;
}

CsvFile& CsvFile::text(std::string_view contents) {
  if (contents.find_first_of(",\"\r\n") == contents.npos) return field(contents);
  std::string quoted = "\"";
  for (const char letter : contents) quoted.append(letter == '"' ? 2 : 1, letter);
  return field(quoted + '"');
}

CsvFile& CsvFile::number(double value) { return field(std::isfinite(value) ? number_text(value) : ""); }

CsvFile& CsvFile::whole(std::uint64_t value) { return field(number_text(value)); }

void CsvFile::flush() {
  if (!write_all(temporary_.file.get(), buffer_)) throw cannot(path_, errno);
  buffer_.clear();
}

void CsvFile::finish() {
  flush();
  if (::fsync(temporary_.file.get()) != 0) throw cannot(path_, errno);
  if (::rename(temporary_.path.c_str(), path_.c_str()) != 0) throw cannot(path_, errno);
  temporary_.file = Descriptor();
}

}  // namespace fedstride
