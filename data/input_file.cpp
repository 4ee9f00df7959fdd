#include "data/input_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/files.hpp"
#include "data/unpacking.hpp"

namespace fedstride {
namespace {

gzFile handle(void* file) { return static_cast<gzFile>(file); }

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : name_("'" + path.string() + "'") {
  size_ = size_of_file(path);
  errno = 0;
  file_ = gzopen(path.c_str(), "rb");
  if (file_ == nullptr) throw failure("cannot read " + name_ + ": " + std::strerror(errno == 0 ? ENOMEM : errno));
  gzbuffer(handle(file_), 1U << 18);
}

InputFile::~InputFile() { gzclose(handle(file_)); }

void InputFile::check() {
  int code = Z_OK;
  const char* text = gzerror(handle(file_), &code);
  if (code == Z_OK || code == Z_STREAM_END) return;
  if (code == Z_BUF_ERROR) throw failure(name_ + " is cut off: it ends in the middle of its gzip stream");
  throw failure("cannot read " + name_ + ": " + (code == Z_ERRNO ? std::strerror(errno) : text));
}

void InputFile::count(std::size_t bytes) {
  unpacked_ += bytes;
  if (unpacked_ > most_unpacked(size_))
    throw failure(name_ + " unpacks to more than " + std::to_string(most_unpacked(size_)) + " bytes, the most that a file of " +
                  std::to_string(size_) + " bytes may hold; unpack it yourself if it is right");
}

std::size_t InputFile::read(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto wanted = static_cast<unsigned>(std::min<std::size_t>(out.size() - done, 1U << 30));
    const int count = gzread(handle(file_), out.data() + done, wanted);
    if (count < 0 || static_cast<unsigned>(count) < wanted) check();
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
    this->count(static_cast<std::size_t>(count));
  }
  return done;
}

bool InputFile::read_line(std::string& line) {
  line.clear();
  char piece[4096];
  while (gzgets(handle(file_), piece, sizeof piece) != nullptr) {
    const std::size_t length = std::strlen(piece);
    if (length == 0 || (length + 1 < sizeof piece && piece[length - 1] != '\n' && gzeof(handle(file_)) == 0))
      throw failure(name_ + " has a byte 0 in a line: it is no text");
    count(length);
    line.append(piece, length);
    if (line.back() == '\n') {
      line.pop_back();
      return true;
    }
    if (line.size() > kMaxLineBytes)
      throw failure(name_ + " has a line of more than " + std::to_string(kMaxLineBytes) + " bytes: it is no table of numbers");
  }
  check();
  return !line.empty();
}

}  // namespace fedstride
