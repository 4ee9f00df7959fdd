#include "core/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace fedstride {

FolderLock::FolderLock(const std::filesystem::path& folder, Wait wait)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  error_ = descriptor_ < 0 ? errno : 0;
  held_ = descriptor_ >= 0 && ::flock(descriptor_, wait == Wait::yes ? LOCK_EX : LOCK_EX | LOCK_NB) == 0;
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), error_(other.error_), held_(std::exchange(other.held_, false)) {}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void FolderLock::require(const std::filesystem::path& folder) const {
  if (held_) return;
  if (error_ != 0) throw failure("cannot open folder '" + folder.string() + "': " + std::strerror(error_));
  throw FolderInUse(Error::Kind::failure, "another fedstride process is running in '" + folder.string() + "'");
}

FolderLock locked(const std::filesystem::path& folder) {
  FolderLock lock(folder, FolderLock::Wait::no);
  lock.require(folder);
  return lock;
}

bool is_held_elsewhere(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::is_directory(folder, error) && !FolderLock(folder, FolderLock::Wait::no).held();
}

}  // namespace fedstride
