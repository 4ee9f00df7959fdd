#include "core/folder_lock.hpp"

#include <sys/file.h>

#include <cstring>

#include "core/call_failed.hpp"
#include "core/files.hpp"

namespace fedstride {

FolderLock::FolderLock(const std::filesystem::path& folder, Wait wait)
    : descriptor_(opened(folder, O_RDONLY | O_NONBLOCK)), error_(descriptor_ ? 0 : errno) {
  if (descriptor_ && ::flock(descriptor_.get(), wait == Wait::yes ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) descriptor_ = Descriptor();
  if (held()) remove_temporaries(folder);
}

void FolderLock::require(const std::filesystem::path& folder) const {
  if (held()) return;
  if (error_ != 0) throw call_failed("cannot open '" + folder.string() + "': " + std::strerror(error_), error_);
  throw FolderInUse(Error::Kind::busy, "another fedstride process is running in '" + folder.string() + "'");
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
