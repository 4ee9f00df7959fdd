#pragma once

#include <filesystem>

#include "core/error.hpp"

namespace fedstride {

/// Thrown if another process works in a folder.
class FolderInUse : public Error {
 public:
  using Error::Error;
};

/// A folder, or a file, that one process at a time may hold. It uses flock on the folder itself, so no lock file is left behind.
class FolderLock {
 public:
  enum class Wait { no, yes };
  FolderLock(const std::filesystem::path& folder, Wait wait);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

  /// False if another process has it, or the folder cannot be opened.
  bool held() const { return held_; }
  /// Does nothing if the lock is held. Else throws FolderInUse, or Error (failure) if the folder cannot be opened.
  void require(const std::filesystem::path& folder) const;

 private:
  int descriptor_ = -1;
  int error_ = 0;
  bool held_ = false;
};

/// Returns a lock that is held, or throws as FolderLock::require does.
FolderLock locked(const std::filesystem::path& folder);

/// True if the folder exists and another process or thread holds it.
bool is_held_elsewhere(const std::filesystem::path& folder);

}  // namespace fedstride
