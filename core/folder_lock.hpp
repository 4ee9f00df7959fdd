#pragma once

#include <filesystem>

#include "core/descriptor.hpp"
#include "core/error.hpp"

namespace fedstride {

/// Thrown if another process is using a folder.
class FolderInUse : public Error {
 public:
  using Error::Error;
};

/// A lock on a folder or file, held by at most one FolderLock at a time, in any process. It uses flock on the folder itself and
/// leaves no lock file. Whoever holds a folder's lock alone writes in it, so files under temporary names were left by killed
/// processes, and are removed when it is locked (core/files.hpp).
class FolderLock {
 public:
  enum class Wait { no, yes };
  FolderLock(const std::filesystem::path& folder, Wait wait);

  /// False if another process holds the lock or the folder cannot be opened.
  bool held() const { return static_cast<bool>(descriptor_); }
  /// True if the folder cannot be opened.
  bool failed() const { return error_ != 0; }
  /// Does nothing if the lock is held; otherwise throws FolderInUse, or Error (failure) if the folder cannot be opened.
  void require(const std::filesystem::path& folder) const;

 private:
  Descriptor descriptor_;  ///< locked
  int error_ = 0;
};

/// Returns a held lock, or throws like FolderLock::require.
FolderLock locked(const std::filesystem::path& folder);

/// True if the folder exists but cannot be locked: another process or thread holds the lock, or the folder cannot be opened.
bool is_held_elsewhere(const std::filesystem::path& folder);

}  // namespace fedstride
