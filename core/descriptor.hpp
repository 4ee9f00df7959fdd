#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

namespace fedstride {

/// A file descriptor, closed on destruction; -1: none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Opens a file with close-on-exec. On failure, returns an empty Descriptor and sets errno.
inline Descriptor opened(const std::filesystem::path& path, int flags, mode_t mode = 0) {
  return Descriptor(::open(path.c_str(), flags | O_CLOEXEC, mode));
}

/// Opens every closed standard descriptor on /dev/null; otherwise, the first file opened would take its place and receive what is
/// printed. Must be called before anything else is opened.
inline void hold_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      static_cast<void>(::open("/dev/null", O_RDWR));  // opens as the lowest free descriptor, fd
}

/// Repeats a system call while signals interrupt it, and returns its result.
auto uninterrupted(auto call) {
  for (;;)
    if (const auto result = call(); result >= 0 || errno != EINTR) return result;
}

/// Writes all bytes; returns false and sets errno if that fails.
inline bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = uninterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace fedstride
