#include "data/input_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/files.hpp"

namespace fedstride {
namespace {

gzFile handle(void* file) { return static_cast<gzFile>(file); }

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : name_("'" + path.string() + "'") {
  size_of_file(path);  // refuses anything but a file
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
  if (code == Z_BUF_ERROR) throw failure(name_ + " is truncated: it ends in the middle of its gzip stream");
  throw failure("cannot read " + name_ + ": " + (code == Z_ERRNO ? std::strerror(errno) : text));
}

// Checks while reading, so a decompression bomb is not unpacked to the end.
void InputFile::count(std::size_t bytes) {
  constexpr std::uint64_t kBetweenLooks = std::uint64_t{1} << 20;
  unpacked_ += bytes;
  if (unpacked_ < look_at_) return;
  look_at_ = unpacked_ + kBetweenLooks;
  const auto from = static_cast<std::uint64_t>(std::max<z_off_t>(gzoffset(handle(file_)), 0));
  if (unpacked_ > most_unpacked(from))
    throw failure(name_ + " unpacks to " + std::to_string(unpacked_) + " bytes from its first " + std::to_string(from) +
                  "; a compressed file may unpack to at most " + std::to_string(kMaxUnpacking) + " times its size plus " +
                  std::to_string(kAlwaysUnpacked) + " bytes; if you trust the file, unpack it yourself");
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

}  // namespace fedstride
