#include "core/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace fedstride {
namespace {

Error too_large(const std::filesystem::path& path, std::uint64_t limit) {
  return failure("'" + path.string() + "' is larger than the " + std::to_string(limit) + " bytes that are read at most");
}

Error cannot(const char* verb, const std::filesystem::path& path, int error) {
  return failure(std::string("cannot ") + verb + " '" + path.string() + "': " + std::strerror(error));
}

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags, mode_t mode = 0)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Throws unless it is a regular file.
std::uint64_t size_of(const std::filesystem::path& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return static_cast<std::uint64_t>(status.st_size);
  if (S_ISDIR(status.st_mode)) throw cannot("read", path, EISDIR);
  const char* kind = S_ISFIFO(status.st_mode) ? "a pipe" : S_ISSOCK(status.st_mode) ? "a socket" : "a device";
  throw failure("cannot read '" + path.string() + "': it is " + kind + "; valid is a regular file");
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void sync_folder(const std::filesystem::path& folder) {
  const Descriptor descriptor(folder.empty() ? std::filesystem::path(".") : folder, O_RDONLY | O_DIRECTORY);
  if (descriptor) ::fsync(descriptor.get());
}

std::filesystem::path temporary_name(std::filesystem::path path) { return path += ".tmp"; }

/// The files in writing, under their temporary names; what is still there at the end is removed.
class Temporaries {
 public:
  Temporaries(const std::filesystem::path& folder, std::span<const NewFile> files) : folder_(folder), files_(files) {}
  ~Temporaries() {
    for (std::size_t i = renamed_; i < written_; ++i) ::unlink(temporary_name(folder_ / files_[i].name).c_str());
  }
  Temporaries(const Temporaries&) = delete;
  Temporaries& operator=(const Temporaries&) = delete;

  void write() {
    for (const NewFile& file : files_) {
      const auto path = folder_ / file.name;
      const auto temporary = temporary_name(path);
      // A file left over by a killed process may have another mode, or be open elsewhere.
      ::unlink(temporary.c_str());
      const Descriptor descriptor(temporary, O_WRONLY | O_CREAT | O_EXCL, file.mode);
      if (!descriptor) throw cannot("write", path, errno);
      ++written_;
      if (!write_all(descriptor.get(), file.contents)) throw cannot("write", path, errno);
    }
  }
  void rename() {
    for (const NewFile& file : files_) {
      const auto path = folder_ / file.name;
      if (::rename(temporary_name(path).c_str(), path.c_str()) != 0) throw cannot("write", path, errno);
      ++renamed_;
    }
  }

 private:
  const std::filesystem::path& folder_;
  std::span<const NewFile> files_;
  std::size_t written_ = 0;
  std::size_t renamed_ = 0;
};

}  // namespace

void write_files(const std::filesystem::path& folder, std::span<const NewFile> files) {
  const Descriptor descriptor(folder, O_RDONLY | O_DIRECTORY);
  if (!descriptor) throw cannot("write to", folder, errno);
  Temporaries temporaries(folder, files);
  temporaries.write();
  // One sync of the file system takes as long as a few of single files: 20 ms for 2,000 files, and not 3 s (ext4).
  if (::syncfs(descriptor.get()) != 0) throw cannot("write to", folder, errno);
  temporaries.rename();
  if (::fsync(descriptor.get()) != 0) throw cannot("write to", folder, errno);
}

void write_file(const std::filesystem::path& path, std::string_view contents) {
  const std::filesystem::path temporary = temporary_name(path);
  {
    const Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (!file) throw cannot("write", path, errno);
    if (!write_all(file.get(), contents) || ::fsync(file.get()) != 0) {
      const int error = errno;
      ::unlink(temporary.c_str());
      throw cannot("write", path, error);
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    throw cannot("write", path, error);
  }
  sync_folder(path.parent_path());
}

void append_line(const std::filesystem::path& path, std::string_view line) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (!file) throw cannot("write", path, errno);
  const off_t before = ::lseek(file.get(), 0, SEEK_END);
  if (!write_all(file.get(), std::string(line) + '\n') || ::fsync(file.get()) != 0) {
    const int error = errno;
    // Best effort: what cannot be written to may refuse this too, and the first reason is the one to tell.
    [[maybe_unused]] const int restored = before >= 0 ? ::ftruncate(file.get(), before) : 0;
    throw cannot("write", path, error);
  }
  if (before == 0) sync_folder(path.parent_path());
}

std::uint64_t size_of_file(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw cannot("read", path, errno);
  return size_of(path, status);
}

std::string read_file(const std::filesystem::path& path, std::uint64_t limit) {
  const Descriptor file(path, O_RDONLY | O_NONBLOCK);  // which does not wait for a pipe's other end
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) throw cannot("read", path, errno);
  const std::uint64_t size = size_of(path, status);
  if (size > limit) throw too_large(path, limit);
  std::string contents;
  contents.reserve(size);
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw cannot("read", path, errno);
    if (count == 0) return contents;
    contents.append(buffer, static_cast<std::size_t>(count));
    if (contents.size() > limit) throw too_large(path, limit);
  }
}

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace fedstride
